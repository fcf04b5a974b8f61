/**
 * Every port and VM that the operator decided about, with its NIC and state: NICs of nodes, selected ports that no node has,
 * ignored ports, ports that MultiNIC does not manage. Pure.
 */
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { verdictKind } from '../../src/contract/verdict-kind.ts'
import { causeOf, type Nic, type Node, type Severity, severities } from './nodes.ts'
import { compareNatural } from './order.ts'

/** Worst first; an ignored port may be a mistake, so it comes before those that are as requested. */
export const portStates = [
  ...severities.filter(severity => severity !== 'configured'),
  ...(['ignored', 'configured', 'unmanaged'] as const),
] satisfies readonly (Severity | 'ignored' | 'unmanaged')[]
export type PortState = (typeof portStates)[number]

export interface Port {
  key: string
  /** Empty for a verdict on a whole VM. */
  portId: string
  vm: string
  vmName: string
  providerId: string
  config: string
  /** The node of the VM, if it has one. */
  node: Node | undefined
  nic: Nic | undefined
  state: PortState
  /** Empty if no operator has written one. */
  verdict: string
  /** Why the state is as it is. */
  cause: { reason: string; message: string; remedy: string }
}

export function portsOf(verdicts: readonly OperatorVerdict[], nodes: readonly Node[]): Port[] {
  const byPort = Map.groupBy(verdicts, ({ portId }) => portId)
  const nics = nodes.flatMap(node =>
    node.nics.flatMap(nic => (nic.portId === '' ? [] : [ofNic(node, nic, byPort.get(nic.portId) ?? [])])),
  )
  const shown = new Set(nics.map(({ portId }) => portId))
  const seen = new Set<string>()
  // A verdict names a VM by its ID, or by the name that the OpenstackConfig uses.
  const byVm = new Map([
    ...nodes.map(node => [node.nodeName, node] as const),
    ...nodes.map(node => [node.instanceId, node] as const),
  ])
  byVm.delete('')
  const others = verdicts.flatMap(verdict => {
    if (verdict.portId && shown.has(verdict.portId)) return []
    const port = ofVerdict(verdict, byVm.get(verdict.vm))
    return seen.has(port.key) ? [] : [seen.add(port.key) && port]
  })
  const rank = new Map(portStates.map((state, index) => [state, index]))
  const nameOf = ({ node, vmName, vm }: Port) => node?.nodeName ?? (vmName || vm)
  return [...nics, ...others].sort(
    (a, b) =>
      (rank.get(a.state) ?? 0) - (rank.get(b.state) ?? 0) ||
      compareNatural(nameOf(a), nameOf(b)) ||
      (a.nic?.index ?? 0) - (b.nic?.index ?? 0) ||
      (a.portId < b.portId ? -1 : 1),
  )
}

function ofNic(node: Node, nic: Nic, verdicts: readonly OperatorVerdict[]): Port {
  const verdict = verdicts.find(({ reason }) => verdictKind(reason) === 'selected') ?? verdicts[0]
  const { instanceId, instanceName, providerId } = node
  return {
    key: `${node.key} ${nic.portId}`,
    ...{ portId: nic.portId, vm: instanceId, vmName: instanceName, providerId, node, nic },
    config: verdict?.config ?? nic.source,
    state: nic.severity,
    verdict: verdict?.reason ?? '',
    cause: nic.severity === 'configured' ? textOf(verdict) : causeOf(nic),
  }
}

/** Of several OpenstackConfigs with the same verdict, the first. */
function ofVerdict(verdict: OperatorVerdict, node: Node | undefined): Port {
  const { portId = '', vm, vmName = '', providerId = '', config, reason, message } = verdict
  const kind = verdictKind(reason)
  return {
    key: JSON.stringify([portId, vm, reason, message]),
    ...{ portId, vm, vmName, providerId, config },
    node,
    nic: undefined,
    state: kind === 'selected' ? 'pending' : kind === 'ignored' ? 'ignored' : 'unmanaged',
    verdict: reason,
    cause: textOf(verdict),
  }
}

function textOf({ reason = '', message = '', remedy = '' }: Partial<OperatorVerdict> = {}): Port['cause'] {
  return { reason, message, remedy }
}

export function portMatches(port: Port, text: string): boolean {
  const query = text.toLowerCase()
  const { portId, vm, vmName, providerId, config, node, nic, verdict, cause } = port
  const names = [portId, vm, vmName, providerId, config, node?.nodeName, node?.providerName, verdict]
  const ofNic = nic && [nic.name, nic.macAddress, ...nic.addresses, nic.network, nic.subnetName, nic.networkName]
  return [...names, ...(ofNic ?? []), cause.reason, cause.message].some(value => value?.toLowerCase().includes(query))
}
