/**
 * What `status` shows: a tree from the provider to the NIC, with the reason and the remedy where something is wrong. Pure.
 */
import type { ConfigView, NicView, NodeView, ProviderView } from '../status.ts'
import { type Paint, shapeOf, toneOf } from './paint.ts'
import { ago, reasonLines } from './reason.ts'
import { aligned, type Cell } from './table.ts'
import { type Branch, treeLines } from './tree.ts'

export interface Look {
  paint: Paint
  now: Date
  /** Also ids, links and times. */
  wide: boolean
}

export function statusTree(providers: readonly ProviderView[], look: Look): string[] {
  return treeLines(providers.map(provider => providerBranch(provider, look)))
}

function providerBranch({ providerId, states, configs }: ProviderView, look: Look): Branch {
  const { paint } = look
  const total = Object.values(states).reduce((sum, count) => sum + count, 0)
  const counts = Object.entries(states).map(([state, count]) => paint(toneOf(state), `${count} ${state}`))
  const nodes = total === 1 ? '1 node' : `${total} nodes`
  return {
    text: `${paint('strong', `provider ${providerId}`)}  ${[nodes, ...counts].join(', ')}`,
    children: configs.flatMap(config =>
      config.name === undefined ? nodeBranches(config.nodes, look) : [configBranch(config, look)],
    ),
  }
}

function configBranch({ name, told, nodes }: ConfigView, look: Look): Branch {
  const { paint, now } = look
  const facts = told && [
    paint(told.ready === 'Ready' ? 'good' : told.ready === 'not ready' ? 'bad' : 'busy', told.ready),
    told.ports && `ports ${told.ports}`,
    told.lastSyncedAt && paint('dim', `synced ${ago(told.lastSyncedAt, now)}`),
  ]
  return {
    text: [`OpenstackConfig ${paint('strong', name ?? '')}`, ...(facts ?? [])].filter(Boolean).join('  '),
    notes: told ? configNotes(told, paint) : [],
    children: nodeBranches(nodes, look),
  }
}

function configNotes(told: NonNullable<ConfigView['told']>, paint: Paint): string[] {
  const skipped = Object.entries(told.skipped ?? {}).map(([reason, count]) => `${count} ${reason}`)
  const { ready, reason, message } = told
  const problems = told.problems.filter(one => one.reason !== reason || one.message !== message)
  return [
    ...(ready === 'not ready' ? reasonLines({ reason, message }, paint) : []),
    ...problems.flatMap(problem => reasonLines(problem, paint)),
    ...(skipped.length > 0 ? [`ports not taken: ${skipped.join(', ')}`] : []),
    ...told.heldRemovals.map(held => `removal waits for a person: ${held}`),
  ]
}

function nodeBranches(nodes: readonly NodeView[], look: Look): Branch[] {
  const { paint, wide, now } = look
  const heads = aligned(
    nodes.map(({ nodeName, state, instanceId, updatedAt }): Cell[] => [
      { text: nodeName, tone: 'strong' },
      { text: state, tone: toneOf(state) },
      ...(wide ? [`VM ${instanceId}`, { text: `changed ${ago(updatedAt, now)}`, tone: 'dim' as const }] : []),
    ]),
    paint,
  )
  return nodes.map((node, at) => ({
    text: heads[at] ?? node.nodeName,
    notes: node.state === 'Configured' ? [] : reasonLines(node, paint),
    children: nicBranches(node.interfaces, look),
  }))
}

export function nicBranches(nics: readonly NicView[], { paint, wide }: Pick<Look, 'paint' | 'wide'>): Branch[] {
  const heads = aligned(
    nics.map(({ name, status, addresses, mtu, macAddress, portId, link }): Cell[] => [
      { text: `${shapeOf(status)} ${name}`, tone: toneOf(status) },
      { text: status, tone: toneOf(status) },
      addresses.join(' '),
      mtu === undefined ? '' : `mtu ${mtu}`,
      macAddress,
      ...(wide ? [portId && `port ${portId}`, link && `link ${link}`] : []),
    ]),
    paint,
  )
  return nics.map((nic, at) => ({
    text: heads[at] ?? nic.name,
    notes: nic.status === 'Configured' ? [] : reasonLines(nic, paint),
  }))
}
