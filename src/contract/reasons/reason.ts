/**
 * The shape of a reason in the catalogue. Free of dependencies.
 */
export const languages = ['en', 'ko'] as const
export type Language = (typeof languages)[number]

/**
 * How serious a reason is:
 * - normal: the result is the requested one, or the user chose it.
 * - progress: a step on the way to a result.
 * - warning: something is wrong or unusual. The component retries, or only this port or interface is affected.
 * - attention: nothing changes until a person acts.
 */
export type ReasonClass = 'normal' | 'progress' | 'warning' | 'attention'

/** What the reason means, then what to do about it. */
type Text = readonly [meaning: string, remedy: string]

type Texts = Record<Language, Text>
export type Reason = { class: ReasonClass; refusal?: boolean } & Texts

/** A group of the catalogue: a reason without a text in every language does not compile. */
export type Reasons = Readonly<Record<string, Omit<Reason, 'refusal'>>>

/** Reasons of nodes and interfaces: a failure that does not say whether the controller retries it does not compile either. */
export type RunReasons = Readonly<Record<string, RunReason>>
export type RunReason = Texts & (Success | Failure)

interface Success {
  class: 'normal' | 'progress'
}

interface Failure {
  class: 'warning' | 'attention'
  /** The same attempt fails again until the spec, the Node or the agent changes. */
  refusal: boolean
}

/** Remedies that many reasons share. */
export const nothingToDo = { en: 'Nothing to do.', ko: '조치할 것이 없습니다.' } as const
export const wait = { en: 'Wait.', ko: '기다리십시오.' } as const
