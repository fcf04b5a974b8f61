/**
 * Text of `history`: every change with its time, its cause and its differences. Pure.
 */

import { comparisonsOf } from '../../contract/deviations.ts'
import { addressesOf } from '../../contract/interfaces.ts'
import type { HistoryEntry, InventoryRecord } from '../../contract/inventory.ts'
import type { RenderOptions } from '../output.ts'
import { stateOf } from '../status.ts'
import type { Tone } from './paint.ts'

const tones: Record<HistoryEntry['what'], Tone> = { created: 'good', config: 'strong', status: 'dim', removed: 'bad' }

/** Wide adds the number and the provider of each entry. */
export function historyLines(
  entries: readonly HistoryEntry[],
  { paint, wide }: Pick<RenderOptions, 'paint' | 'wide'>,
): string[] {
  return entries.flatMap(({ id, at, what, why, before, after }) => [
    [at, paint(tones[what], what), ...(wide ? [`#${id}`, `provider ${(after ?? before)?.providerId}`] : []), why].join(
      '  ',
    ),
    ...changesOf(before, after).map(change => `    ${paint(change.startsWith('-') ? 'bad' : 'dim', change)}`),
  ])
}

/** `+` added, `-` removed, `~` changed. */
export function changesOf(before: InventoryRecord | undefined, after: InventoryRecord | undefined): string[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.flatMap(name => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was === is) return []
    if (was === undefined) return [`+ ${name}  ${is}`]
    return is === undefined ? [`- ${name}  ${was}`] : [`~ ${name}  ${was} → ${is}`]
  })
}

/** Everything that can change, by a stable name, so that a change shows the old and the new value. */
function linesOf(record: InventoryRecord | undefined): Map<string, string> {
  if (!record) return new Map()
  const nics = record.config.interfaces.flatMap((nic, at): [string, string][] => {
    const name = nic.name ?? `multinic${nic.id ?? at}`
    const facts = [addressesOf(nic).join(' '), nic.mtu && `mtu ${nic.mtu}`, nic.macAddress, nic.portId]
    return [[name, facts.filter(Boolean).join(' ')]]
  })
  const states = comparisonsOf(record).map(({ requested, state }): [string, string] => [
    `${requested.name} state`,
    stateText(state?.status ?? 'Pending', state?.reason),
  ])
  const state: [string, string] = ['node state', stateText(stateOf(record), record.reason)]
  return new Map([['VM', record.instanceId], state, ...nics, ...states])
}

function stateText(state: string, reason: string | undefined): string {
  return reason === undefined || reason === state ? state : `${state} ${reason}`
}
