/**
 * The status of the sandbox, as data and as a tree. Pure.
 */
import { interfaceHash } from '../../src/contract/interface-hash.ts'
import { completeInterfaces } from '../../src/contract/interfaces.ts'
import type { InterfaceStatus, NodeConfig } from '../../src/contract/node-config.ts'
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

/** What the nodes run on: namespaces of root, namespaces of a user, memory, or QEMU. */
export type HostKind = 'namespaces' | 'user namespace' | 'simulated' | 'virtual machines'

export interface SandboxStatus {
  ready: boolean
  nodes: NodeView[]
  kubeconfigs: { management: string; biz: string }
  /** Holds the bearer token of a caller who may request plans. */
  tokenFile: string
  urls: Record<string, string>
  /** Active faults. */
  faults: ActiveFault[]
  host: HostKind
}

export interface ObservedSandbox {
  /** In display order. */
  nodes: {
    name: string
    ports: { id: string; macAddress: string; subnet: string }[]
    /** Why the node is down: its reboot failed. */
    failure?: string | undefined
  }[]
  nodeConfigs: NodeConfig[]
  openstackConfigs: OpenstackConfig[]
  /** API servers that did not answer. */
  unreachable: string[]
  kubeconfigs: SandboxStatus['kubeconfigs']
  tokenFile: string
  urls: SandboxStatus['urls']
  faults: ActiveFault[]
  host: HostKind
}

export function sandboxStatus(observed: ObservedSandbox): SandboxStatus {
  const onHold = observed.openstackConfigs.flatMap(config => config.status?.heldRemovals ?? [])
  const { unreachable } = observed
  const nodes = observed.nodes.map(node => {
    if (unreachable.length > 0) return unknownNode(node, `${unreachable.join(' and ')} cannot be reached`)
    if (node.failure !== undefined) return unknownNode(node, `reboot failed: ${node.failure}`, 'Down')
    const config = observed.nodeConfigs.find(each => each.spec.nodeName === node.name)
    return nodeView(node, config, onHold)
  })
  const synced = observed.openstackConfigs.every(
    config =>
      config.status?.observedGeneration === config.metadata.generation &&
      config.status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True'),
  )
  const allConfigured = nodes.every(
    ({ state, interfaces }) =>
      state !== 'Down' &&
      interfaces.every(each => each.status === 'Configured') &&
      (interfaces.length === 0 || state === 'Configured'),
  )
  const { kubeconfigs, tokenFile, urls, faults, host } = observed
  const ready = unreachable.length === 0 && synced && allConfigured
  return { ready, nodes, kubeconfigs, tokenFile, urls, faults, host }
}

function unknownNode(
  { name, ports }: ObservedSandbox['nodes'][number],
  message: string,
  state: 'Unknown' | 'Down' = 'Unknown',
): NodeView {
  return {
    name,
    state,
    message,
    interfaces: ports.map(port => ({ ...newPortView(port), status: 'Unknown' })),
  }
}

function newPortView({ id, macAddress, subnet }: ObservedSandbox['nodes'][number]['ports'][number]): InterfaceView {
  return { name: '', status: 'Attached', macAddress, portId: id, subnet }
}

/** Of the newest request: a new port of the node changes nothing for its other interfaces. */
function reportsOf({ metadata, spec, status }: NodeConfig): InterfaceStatus[] {
  const isCurrent = status?.observedGeneration === metadata.generation
  const hashes = new Set(completeInterfaces(spec.interfaces).interfaces.map(interfaceHash))
  return (status?.interfaceStatuses ?? []).filter(
    ({ specHash, pending }) => isCurrent || (!pending && specHash !== undefined && hashes.has(specHash)),
  )
}

function nodeView(node: ObservedSandbox['nodes'][number], config: NodeConfig | undefined, onHold: string[]): NodeView {
  // A status of an older generation does not explain the state of this one.
  const status = config?.status?.observedGeneration === config?.metadata.generation ? config?.status : undefined
  const ready = status?.conditions?.find(condition => condition.type === 'Ready')
  const requested = config?.spec.interfaces ?? []
  const reports = config ? reportsOf(config) : []
  const views = requested.map((nic, index) => {
    const name = nic.name ?? `multinic${nic.id ?? index}`
    const report = reports.find(each => each.name === name && each.portId === nic.portId)
    const port = node.ports.find(each => each.id === nic.portId)
    const isOnHold = !port && onHold.some(each => nic.portId && each.includes(nic.portId))
    const shown = port ? report : isOnHold ? removalOnHold : undefined
    return {
      name,
      status: port ? (report?.status ?? 'Pending') : isOnHold ? 'OnHold' : 'Removing',
      ...present('reason', shown?.reason),
      ...present('message', shown?.message),
      ...present('address', nic.address),
      ...present('mtu', nic.mtu),
      macAddress: nic.macAddress,
      portId: nic.portId ?? '',
      subnet: port?.subnet ?? '',
    }
  })
  const unseen = node.ports.filter(port => !requested.some(nic => nic.portId === port.id)).map(newPortView)
  return {
    name: node.name,
    state: config ? (status?.state ?? 'Pending') : 'None',
    ...present('reason', ready?.reason),
    ...present('message', ready?.message),
    interfaces: [...views, ...unseen].sort((a, b) => (a.name < b.name ? -1 : 1)),
  }
}

/** The operator puts many removals at once on hold until a user approves them. */
const removalOnHold = {
  reason: 'RemovalHeld',
  message: `many interfaces removed at once; to approve: kubectl -n multinic-system annotate osc --all --overwrite ${openstackConfigAnnotations.approveRemovals}=$(date +%s)`,
}

function present<K extends string, V>(key: K, value: V | undefined): { [P in K]?: V } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: V }
}

export function statusTree(status: SandboxStatus): string {
  const kinds = {
    namespaces: '',
    'user namespace': ' (in a user namespace)',
    simulated: ' (simulated)',
    'virtual machines': ' (virtual machines)',
  }
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

/** Above this number the tree shows only the first nodes and those that are not Configured. */
const maxShownNodes = 30

function fold(nodes: NodeView[]): { shown: NodeView[]; folded: string } {
  if (nodes.length <= maxShownNodes) return { shown: nodes, folded: '' }
  const shown = nodes.filter((node, index) => index < 3 || node.state !== 'Configured').slice(0, maxShownNodes)
  const rest = nodes.filter(node => !shown.includes(node))
  const configured = rest.filter(({ state }) => state === 'Configured').length
  const others = rest.length - configured
  return { shown, folded: `${rest.length} more  ${configured} Configured${others ? `, ${others} not Configured` : ''}` }
}

function faultLine({ name, node, effect, until }: ActiveFault): string {
  return `  ${name}${node ? ` on ${node}` : ''}  ${effect}${until ? ` (until ${until})` : ''}`
}

function headline({ state, reason, message, interfaces }: NodeView): string {
  if (state === 'None') return interfaces.length === 0 ? 'no ports attached' : 'waiting for the operator'
  if (state === 'Configured') return interfaces.length === 0 ? 'no interfaces' : 'Configured'
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

/** Addresses and commands to try next. */
export function nextSteps(status: SandboxStatus, program: string): string {
  const { urls, kubeconfigs, tokenFile, host } = status
  return `addresses
  dashboard    ${urls['dashboard']}
  inventory    ${urls['inventory']}/docs
  viola        ${urls['viola']}/docs
  keystone     ${urls['keystone']}/v3
  contrabass   ${urls['contrabass']}

query
  export MULTINIC_INVENTORY_URL=${urls['inventory']} MULTINIC_TOKEN_FILE=${tokenFile}
  # then: ${program} status, why, find, check, plan

kubectl
  export KUBECONFIG=${kubeconfigs.biz}          # nodes, MultiNicNodeConfigs, Jobs, Pods
  export KUBECONFIG=${kubeconfigs.management}   # OpenstackConfigs

try
  ${program} sandbox attach --vm ${status.nodes.at(1)?.name ?? 'worker-1'} --subnet storage
  ${program} sandbox detach --vm worker-1 --name multinic0
  ${program} sandbox reboot worker-1
${host === 'simulated' ? '' : `  ${program} sandbox shell worker-1\n`}  ${program} sandbox status
  ${program} sandbox down`
}
