/** The parts of the list. */
import type { Language } from '../../../src/contract/reasons/catalogue.ts'

export interface PublishedAttack {
  about: Record<Language, string>
  /** What the first attempt did. Undefined: what the test expects, or the track record has it. */
  failed?: Record<Language, string>
  /** What was measured. */
  measured?: Record<Language, string>
  file: string
  /** The file that runs the tests of `file`, if it is another one. */
  runBy?: string
  /** It says what is expected. `…` stands for each value of a template. */
  test: string
}

export interface AttackSection {
  title: Record<Language, string>
  attacks: readonly PublishedAttack[]
}
