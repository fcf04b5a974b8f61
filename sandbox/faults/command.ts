/**
 * `multinic sandbox fault`: lists what can go wrong, switches it on by a word, and off again.
 */
import type { Command } from 'commander'
import { command, milliseconds, running, type Where } from '../commands/cli-options.ts'
import type { ActiveFault } from './active-faults.ts'
import { catalogue, catalogueText, isWord } from './catalogue.ts'

interface Flags extends Where {
  for?: number
  node?: string
}

export function addFaultCommand(sandbox: Command): void {
  command(sandbox, 'fault', 'let something go wrong, by a word; without one, lists all words')
    .argument('[word]', 'such as slow-neutron; or off')
    .argument('[which]', 'after off: the word that is to end (without it: all)')
    .option('--for <duration>', 'ends by itself after this time, such as 30s', milliseconds)
    .option('--node <name>', 'of this node only (for faults of nodes)')
    .action(async (word: string | undefined, which: string | undefined, flags: Flags) => {
      const { for: forMs, node, ...where } = flags
      if (word === undefined) return console.log(catalogueText())
      if (word === 'off') return console.log(leftText(await running(where, control => control.faultOff(which))))
      if (which !== undefined) throw new Error(`"${which}" is one word too many; a fault is one word, such as ${word}`)
      await running(where, control => control.faultOn({ word, node, forMs }))
      if (isWord(word)) console.log(begunText(word, catalogue[word].once === true, forMs))
    })
}

function begunText(word: keyof typeof catalogue, once: boolean, forMs: number | undefined): string {
  const { part, does, ends } = catalogue[word]
  const when = once ? 'it ends' : forMs ? `it ends after ${forMs / 1000} s` : `"fault off ${word}" ends it`
  return `${part} ${does}\n${when}: ${ends}`
}

function leftText(left: ActiveFault[]): string {
  return left.length === 0 ? 'no fault is on' : `still on: ${left.map(({ word }) => word).join(', ')}`
}
