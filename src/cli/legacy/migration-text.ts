/**
 * Text of a migration: planned or done, node by node, as a diff. Pure.
 */
import { addressesOf, completeInterfaces, type Interface } from '../../contract/interfaces.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { type Paint, printable, type Tone } from '../render/paint.ts'
import { aligned } from '../render/table.ts'
import type { Migration } from './migration-plan.ts'

const signs: Record<Migration['action'], { sign: string; tone: Tone; text: string }> = {
  create: { sign: '+', tone: 'good', text: 'a MultiNicNodeConfig would be created' },
  wait: { sign: '~', tone: 'busy', text: 'being taken over' },
  done: { sign: '=', tone: 'dim', text: 'taken over' },
  differs: { sign: '!', tone: 'bad', text: 'has a MultiNicNodeConfig with another request, which takes precedence' },
  blocked: { sign: '!', tone: 'bad', text: 'cannot be migrated' },
}

export function migrationLines(rows: readonly Migration[], paint: Paint, mode: 'plan' | 'verify'): string[] {
  if (rows.length === 0) return ['nothing to migrate: no MultiNicBizConfig found']
  return [headline(rows, paint, mode), ...rows.flatMap(row => ['', ...nodeLines(row, paint)])]
}

function headline(rows: readonly Migration[], paint: Paint, mode: 'plan' | 'verify'): string {
  const count = (...actions: Migration['action'][]) => rows.filter(({ action }) => actions.includes(action)).length
  const counts = [
    [count('done'), 'taken over'],
    [count('wait'), 'in progress'],
    [count('create'), mode === 'plan' ? 'to take over' : 'not taken over'],
    [count('differs', 'blocked'), 'need attention'],
  ].flatMap(([number, text]) => (number === 0 ? [] : [`${number} ${text}`]))
  const end = mode === 'plan' ? '; dry run, nothing was changed' : ''
  return `${paint('strong', `${rows.length} ${rows.length === 1 ? 'node' : 'nodes'}`)}  ${counts.join(', ')}${end}`
}

function nodeLines({ action, nodeName, attachedNodeId, from, requested, existing, ...row }: Migration, paint: Paint) {
  const { sign, tone, text } = signs[action]
  const message = printable(row.message)
  const about = printable(`VM ${attachedNodeId}, from ${from}`)
  const head = `${paint(tone, `${sign} ${printable(nodeName)}  ${text}`)}  ${paint('dim', about)}`
  if (action === 'blocked') return [head, `    ${message}`]
  if (action === 'wait') return [head, `    ${message}`]
  if (action === 'done' || !requested) return [head]
  const added = nicLines(requested, paint).map(line => paint('good', `    + ${line}`))
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
