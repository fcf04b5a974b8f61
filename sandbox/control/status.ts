/**
 * How the sandbox is, as data and as a tree. Pure.
 */
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { type OpenstackConfig, openstackConfigAnnotations } from '../../src/contract/openstack-config.ts'
import type { ActiveFault } from '../faults/active-faults.ts'

export interface InterfaceView {
  name: string
  status: string
  reason?: string
  message?: string
  address?: string
  mtu?: number
  macAddress: string
  portId: string
  subnet: string
}

export interface NodeView {
  name: string
  state: string
  reason?: string
  message?: string
  interfaces: InterfaceView[]
}

/** What its nodes are: of root, of a user, or in memory. */
export type HostKind = 'namespaces' | 'user namespace' | 'simulated'

export interface SandboxStatus {
  ready: boolean
  nodes: NodeView[]
  kubeconfigs: { management: string; biz: string }
  /** Holds the bearer token of a caller who may request plans. */
  tokenFile: string
  urls: Record<string, string>
  /** What was switched on and has not ended. */
  faults: ActiveFault[]
  host: HostKind
}

export interface Observed {
  /** In the order in which they are shown. */
  nodes: { name: string; ports: { id: string; macAddress: string; subnet: string }[] }[]
  nodeConfigs: NodeConfig[]
  openstackConfigs: OpenstackConfig[]
  /** Which clusters could not be asked: nothing is known of what they hold. */
  away: string[]
  kubeconfigs: SandboxStatus['kubeconfigs']
  tokenFile: string
  urls: SandboxStatus['urls']
  faults: ActiveFault[]
  host: HostKind
}

export function statusOf(observed: Observed): SandboxStatus {
  const held = observed.openstackConfigs.flatMap(config => config.status?.heldRemovals ?? [])
  const { away } = observed
  const nodes = observed.nodes.map(node => {
    if (away.length > 0) return unknownNode(node, `${away.join(' and ')} cannot be asked`)
    const config = observed.nodeConfigs.find(each => each.spec.nodeName === node.name)
    return nodeView(node, config, held)
  })
  const synced = observed.openstackConfigs.every(
    config =>
      config.status?.observedGeneration === config.metadata.generation &&
      config.status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True'),
  )
  const settled = nodes.every(
    ({ state, interfaces }) =>
      interfaces.every(each => each.status === 'Configured') && (interfaces.length === 0 || state === 'Configured'),
  )
  const { kubeconfigs, tokenFile, urls, faults, host } = observed
  return { ready: away.length === 0 && synced && settled, nodes, kubeconfigs, tokenFile, urls, faults, host }
}

function unknownNode({ name, ports }: Observed['nodes'][number], message: string): NodeView {
  return { name, state: 'Unknown', message, interfaces: ports.map(port => ({ ...unnamed(port), status: 'Unknown' })) }
}

function unnamed({ id, macAddress, subnet }: Observed['nodes'][number]['ports'][number]): InterfaceView {
  return { name: '', status: 'Attached', macAddress, portId: id, subnet }
}

function nodeView(node: Observed['nodes'][number], config: NodeConfig | undefined, held: string[]): NodeView {
  // What was told of an older generation is not why this one waits.
  const status = config?.status?.observedGeneration === config?.metadata.generation ? config?.status : undefined
  const told = status?.conditions?.find(condition => condition.type === 'Ready')
  const wanted = config?.spec.interfaces ?? []
  const views = wanted.map((nic, index) => {
    const name = nic.name ?? `multinic${nic.id ?? index}`
    const report = status?.interfaceStatuses?.find(each => each.name === name && each.portId === nic.portId)
    const port = node.ports.find(each => each.id === nic.portId)
    const isHeld = !port && held.some(each => nic.portId && each.includes(nic.portId))
    const told = port ? report : isHeld ? heldBack : undefined
    return {
      name,
      status: port ? (report?.status ?? 'Pending') : isHeld ? 'Held' : 'Removing',
      ...present('reason', told?.reason),
      ...present('message', told?.message),
      ...present('address', nic.address),
      ...present('mtu', nic.mtu),
      macAddress: nic.macAddress,
      portId: nic.portId ?? '',
      subnet: port?.subnet ?? '',
    }
  })
  const unseen = node.ports.filter(port => !wanted.some(nic => nic.portId === port.id)).map(unnamed)
  return {
    name: node.name,
    state: config ? (status?.state ?? 'Pending') : 'None',
    ...present('reason', told?.reason),
    ...present('message', told?.message),
    interfaces: [...views, ...unseen].sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

/** The brake of the operator: a person has to say that so many were meant to go. */
const heldBack = {
  reason: 'RemovalHeld',
  message: `many went at once; let them go: kubectl -n multinic-system annotate osc --all --overwrite ${openstackConfigAnnotations.releaseRemovals}=$(date +%s)`,
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}

export function treeOf(status: SandboxStatus): string {
  const kinds = { namespaces: '', 'user namespace': ' (in a user namespace)', simulated: ' (simulated)' }
  const lines = [`sandbox ${status.ready ? 'ready' : 'not ready yet'}${kinds[status.host]}`]
  const { shown, folded } = fold(status.nodes)
  shown.forEach((node, index) => {
    const last = index === shown.length - 1 && folded === ''
    lines.push(`${last ? '└─' : '├─'} ${node.name}  ${headline(node)}`)
    node.interfaces.forEach((nic, at) => {
      const branch = at === node.interfaces.length - 1 ? '└─' : '├─'
      lines.push(`${last ? '  ' : '│ '} ${branch} ${nicLine(nic)}`)
    })
  })
  if (folded) lines.push(`└─ ${folded}`)
  if (status.faults.length > 0) lines.push('', 'faults', ...status.faults.map(faultLine))
  return lines.join('\n')
}

/** More than a screen of them: then only the first, and those that are not as they should be. */
const manyNodes = 30

function fold(nodes: NodeView[]): { shown: NodeView[]; folded: string } {
  if (nodes.length <= manyNodes) return { shown: nodes, folded: '' }
  const shown = nodes.filter((node, index) => index < 3 || node.state !== 'Configured').slice(0, manyNodes)
  const rest = nodes.filter(node => !shown.includes(node))
  const configured = rest.filter(({ state }) => state === 'Configured').length
  const waiting = rest.length - configured
  return { shown, folded: `${rest.length} more  ${configured} Configured${waiting ? `, ${waiting} not yet` : ''}` }
}

function faultLine({ word, node, does, until }: ActiveFault): string {
  return `  ${word}${node ? ` on ${node}` : ''}  ${does}${until ? ` (until ${until})` : ''}`
}

function headline({ state, reason, message, interfaces }: NodeView): string {
  if (state === 'None') return interfaces.length === 0 ? 'no ports attached' : 'waits for the operator'
  if (state === 'Configured') return interfaces.length === 0 ? 'nothing of ours' : 'Configured'
  return [state, reason, message].filter(Boolean).join('  ')
}

function nicLine(nic: InterfaceView): string {
  const cells = [
    (nic.name || 'new port').padEnd(9),
    nic.status.padEnd(10),
    (nic.address ?? '').padEnd(15),
    (nic.mtu ? `mtu ${nic.mtu}` : '').padEnd(9),
    nic.macAddress,
    nic.subnet,
    ...(nic.status === 'Configured' ? [] : [nic.reason, nic.message]),
  ]
  return cells
    .filter(cell => cell !== undefined && cell !== '')
    .join('  ')
    .trimEnd()
}

/** What a person may want to type next. */
export function nextSteps(status: SandboxStatus, program: string): string {
  const { urls, kubeconfigs, tokenFile } = status
  return `addresses
  dashboard    ${urls['dashboard']}
  inventory    ${urls['inventory']}/v1/inventory/node-configs
               ${urls['inventory']}/docs
  viola        ${urls['viola']}/docs
  keystone     ${urls['keystone']}/v3
  contrabass   ${urls['contrabass']}

ask
  export MULTINIC_INVENTORY_URL=${urls['inventory']}   # then: ${program} status, why, find, check
  export MULTINIC_TOKEN_FILE=${tokenFile}   # for ${program} plan

kubectl
  export KUBECONFIG=${kubeconfigs.biz}          # nodes, MultiNicNodeConfigs, Jobs, Pods
  export KUBECONFIG=${kubeconfigs.management}   # OpenstackConfigs

try
  ${program} sandbox attach --vm worker-2 --subnet storage
  ${program} sandbox detach --vm worker-1 --name multinic0
  ${program} sandbox reboot worker-1
  ${program} sandbox shell worker-1
  ${program} sandbox status
  ${program} sandbox down`
}
