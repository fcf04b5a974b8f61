/**
 * Text of `history`: every change with its time, its cause and its differences. Pure.
 */

import { comparisonsOf } from '../../contract/deviations.ts'
import { addressesOf } from '../../contract/interfaces.ts'
import type { HistoryEntry, InventoryRecord } from '../../contract/inventory.ts'
import type { RenderOptions } from '../output.ts'
import { stateOf } from '../status.ts'
import { nameText } from './names.ts'
import type { Tone } from './paint.ts'

const tones: Record<HistoryEntry['what'], Tone> = { created: 'good', config: 'strong', status: 'dim', removed: 'bad' }

/** Wide adds the number and the provider of each entry. */
export function historyLines(
  entries: readonly HistoryEntry[],
  { paint, wide }: Pick<RenderOptions, 'paint' | 'wide'>,
): string[] {
  return entries.flatMap(({ id, at, what, why, before, after }) => {
    const { providerId = '', providerName } = after ?? before ?? {}
    const ids = wide ? [`#${id}`, `provider ${nameText(providerName, providerId, { wide })}`] : []
    return [
      [at, paint(tones[what], what), ...ids, why].join('  '),
      ...changesOf(before, after).map(change => `    ${paint(change.startsWith('-') ? 'bad' : 'dim', change)}`),
    ]
  })
}

/** `+` added, `-` removed, `~` changed. */
export function changesOf(before: InventoryRecord | undefined, after: InventoryRecord | undefined): string[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.flatMap(name => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was?.value === is?.value) return []
    if (was === undefined) return [`+ ${name}  ${is?.text}`]
    return is === undefined ? [`- ${name}  ${was.text}`] : [`~ ${name}  ${was.text} → ${is.text}`]
  })
}

/** Values are compared, texts are shown: a name alone is no change. */
interface Line {
  value: string
  text: string
}

/** Everything that can change, by a stable name, so that a change shows the old and the new value. */
function linesOf(record: InventoryRecord | undefined): Map<string, Line> {
  if (!record) return new Map()
  const { instanceId, instanceName } = record
  const nics = record.config.interfaces.map((nic, at): [string, Line] => {
    const name = nic.name ?? `multinic${nic.id ?? at}`
    const facts = [addressesOf(nic).join(' '), nic.mtu && `mtu ${nic.mtu}`, nic.macAddress, nic.portId]
    const value = facts.filter(Boolean).join(' ')
    const network = nic.subnetName ?? nic.networkName
    return [name, { value, text: network ? `${value} (${network})` : value }]
  })
  const states = comparisonsOf(record).map(({ requested, state }): [string, Line] => [
    `${requested.name} state`,
    same(stateText(state?.status ?? 'Pending', state?.reason)),
  ])
  const vm = { value: instanceId, text: nameText(instanceName, instanceId, { wide: true }) }
  return new Map([['VM', vm], ['node state', same(stateText(stateOf(record), record.reason))], ...nics, ...states])
}

function same(text: string): Line {
  return { value: text, text }
}

function stateText(state: string, reason: string | undefined): string {
  return reason === undefined || reason === state ? state : `${state} ${reason}`
}
