/**
 * What a migration would do or has done, node by node, as a diff. Pure.
 */
import { addressesOf, completeInterfaces, type Interface } from '../../contract/interfaces.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { harmless, type Paint, type Tone } from '../render/paint.ts'
import { aligned } from '../render/table.ts'
import type { Migration } from './migration-plan.ts'

const signs: Record<Migration['action'], { sign: string; tone: Tone; words: string }> = {
  create: { sign: '+', tone: 'good', words: 'a MultiNicNodeConfig would be made' },
  wait: { sign: '~', tone: 'busy', words: 'being taken over' },
  done: { sign: '=', tone: 'dim', words: 'taken over' },
  differs: { sign: '!', tone: 'bad', words: 'has a MultiNicNodeConfig that asks for something else, and wins' },
  blocked: { sign: '!', tone: 'bad', words: 'cannot be migrated' },
}

export function migrationLines(rows: readonly Migration[], paint: Paint, told: 'plan' | 'verify'): string[] {
  if (rows.length === 0) return ['there is no MultiNicBizConfig: nothing to migrate']
  return [headline(rows, paint, told), ...rows.flatMap(row => ['', ...nodeLines(row, paint)])]
}

function headline(rows: readonly Migration[], paint: Paint, told: 'plan' | 'verify'): string {
  const count = (...actions: Migration['action'][]) => rows.filter(({ action }) => actions.includes(action)).length
  const said = [
    [count('done'), 'taken over'],
    [count('wait'), 'under way'],
    [count('create'), told === 'plan' ? 'to take over' : 'not taken over'],
    [count('differs', 'blocked'), 'for a person to look at'],
  ].flatMap(([number, words]) => (number === 0 ? [] : [`${number} ${words}`]))
  const end = told === 'plan' ? '; nothing was changed' : ''
  return `${paint('strong', `${rows.length} ${rows.length === 1 ? 'node' : 'nodes'}`)}  ${said.join(', ')}${end}`
}

function nodeLines({ action, nodeName, attachedNodeId, from, wanted, existing, ...row }: Migration, paint: Paint) {
  const { sign, tone, words } = signs[action]
  const message = harmless(row.message)
  const about = harmless(`VM ${attachedNodeId}, of ${from}`)
  const head = `${paint(tone, `${sign} ${harmless(nodeName)}  ${words}`)}  ${paint('dim', about)}`
  if (action === 'blocked') return [head, `    ${message}`]
  if (action === 'wait') return [head, `    ${message}`]
  if (action === 'done' || !wanted) return [head]
  const added = nicLines(wanted, paint).map(line => paint('good', `    + ${line}`))
  if (action === 'create') return [head, ...added]
  const there = existing ? nicLines(existing, paint).map(line => paint('bad', `    - ${line}`)) : []
  return [head, ...there, ...added, `    ${message}`]
}

function nicLines({ spec }: NodeConfig, paint: Paint): string[] {
  const { interfaces } = completeInterfaces(spec.interfaces)
  return aligned(
    interfaces.map((nic: Interface) => [
      nic.name,
      addressesOf(nic).join(' '),
      nic.mtu === undefined ? '' : `mtu ${nic.mtu}`,
      nic.macAddress,
      nic.portId && `port ${nic.portId}`,
    ]),
    paint,
  )
}
