/**
 * Text of `status`: a tree from the provider to the NIC, with reason and remedy where something is wrong. Pure.
 */
import type { RenderOptions } from '../output.ts'
import type { ConfigView, NicView, NodeView, ProviderView } from '../status.ts'
import { nameText, subnetText } from './names.ts'
import { comparisonLines, observedCell } from './observation.ts'
import { symbolOf, toneOf } from './paint.ts'
import { ago, reasonLines } from './reason.ts'
import { aligned, type Cell } from './table.ts'
import { type Branch, treeLines } from './tree.ts'

export function statusTree(providers: readonly ProviderView[], options: RenderOptions): string[] {
  return treeLines(providers.map(provider => providerBranch(provider, options)))
}

function providerBranch({ providerId, providerName, states, configs }: ProviderView, options: RenderOptions): Branch {
  const { paint, texts } = options
  const name = nameText(providerName, providerId, options)
  const total = Object.values(states).reduce((sum, count) => sum + count, 0)
  const counts = Object.entries(states).map(([state, count]) => paint(toneOf(state), `${count} ${state}`))
  return {
    text: `${paint('strong', `${texts.provider} ${name}`)}  ${[texts.nodes(total), ...counts].join(', ')}`,
    children: configs.flatMap(config =>
      config.name === undefined ? nodeBranches(config.nodes, options) : [configBranch(config, options)],
    ),
  }
}

function configBranch({ name, state, nodes }: ConfigView, options: RenderOptions): Branch {
  const { paint, texts } = options
  const facts = state && [
    paint(readyTones[state.ready], texts[state.ready]),
    state.deletedAt && paint('bad', texts.beingDeleted(ago(state.deletedAt, options))),
    state.ports && `${texts.ports} ${state.ports}`,
    state.lastSyncedAt && paint('dim', `${texts.synced} ${ago(state.lastSyncedAt, options)}`),
  ]
  return {
    text: [`OpenstackConfig ${paint('strong', name ?? '')}`, ...(facts ?? [])].filter(Boolean).join('  '),
    notes: state ? configNotes(state, options) : [],
    children: nodeBranches(nodes, options),
  }
}

const readyTones = { ready: 'good', notReady: 'bad', notSynced: 'busy' } as const

function configNotes(state: NonNullable<ConfigView['state']>, options: RenderOptions): string[] {
  const { texts } = options
  const skipped = Object.entries(state.skipped ?? {}).map(([reason, count]) => `${count} ${reason}`)
  const { ready, reason, message } = state
  const shown = new Set([`${reason} ${message}`])
  const problems = state.problems.filter(one => {
    const text = `${one.reason} ${one.message}`
    return !shown.has(text) && shown.add(text)
  })
  return [
    ...(ready === 'notReady' ? reasonLines({ reason, message }, options) : []),
    ...problems.flatMap(problem => reasonLines(problem, options)),
    ...(skipped.length > 0 ? [`${texts.ignoredPorts}: ${skipped.join(', ')}`] : []),
    ...state.heldRemovals.map(removal => `${texts.removalOnHold}: ${removal}`),
  ]
}

function nodeBranches(nodes: readonly NodeView[], options: RenderOptions): Branch[] {
  const { paint, wide, texts } = options
  const heads = aligned(
    nodes.map(({ nodeName, state, instanceId, instanceName, updatedAt }): Cell[] => [
      { text: nodeName, tone: 'strong' },
      { text: state, tone: toneOf(state) },
      ...(wide
        ? [
            `VM ${nameText(instanceName, instanceId, options)}`,
            { text: `${texts.changed} ${ago(updatedAt, options)}`, tone: 'dim' as const },
          ]
        : [instanceName && instanceName !== nodeName ? `VM ${instanceName}` : '']),
    ]),
    paint,
  )
  return nodes.map((node, at) => ({
    text: heads[at] ?? node.nodeName,
    notes: node.state === 'Configured' ? [] : reasonLines(node, options),
    children: nicBranches(node.interfaces, options),
  }))
}

/** Columns that the branches of provider, OpenstackConfig and node take. */
const depth = 9

function nicBranches(nics: readonly NicView[], options: RenderOptions): Branch[] {
  const { paint, wide, texts, columns } = options
  const heads = aligned(
    nics.map((nic): Cell[] => {
      const { name, status, addresses, mtu, macAddress, portId, link } = nic
      return [
        { text: `${symbolOf(status)} ${name}`, tone: toneOf(status) },
        { text: status, tone: toneOf(status) },
        addresses.join(' '),
        subnetText(nic, options),
        mtu === undefined ? '' : `mtu ${mtu}`,
        macAddress,
        ...(wide ? [portId && `${texts.port} ${portId}`, link && `link ${link}`] : []),
        observedCell(nic, options),
      ]
    }),
    paint,
    // The MTU, the MAC address, then the subnet.
    { columns: columns && Math.max(1, columns - depth), optional: [4, 5, 3] },
  )
  return nics.map((nic, at) => ({
    text: heads[at] ?? nic.name,
    notes: [...(nic.status === 'Configured' ? [] : reasonLines(nic, options)), ...comparisonLines(nic, options)],
  }))
}
