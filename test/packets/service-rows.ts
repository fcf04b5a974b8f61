/**
 * The rows of the packet suite about Services: NodePorts, external IPs and virtual addresses.
 *
 * Pure.
 */

import { fullTunnel, mainFirst, noReversePath, noRouteBack, noRouter, vpnDecidesReply } from './exceptions.ts'
import type { Exception, Row } from './expectations.ts'

/** The reply is forwarded: its mark decides, and the blackhole counts only for the reverse path filter. */
const forwardedFar: readonly Exception[] = [fullTunnel, noReversePath]
/** The reply is the node's own: the lookup before the mark needs a route. */
const ownFar: readonly Exception[] = [fullTunnel, noRouteBack]

/** From N to the primary's address by a router. */
const strictPrimary: Exception = {
  family: 4,
  because: "the reverse lookup of a forwarded packet finds N in the main table, and the primary's filter is strict",
  device: 'none',
}

type Request = Pick<Row, 'from' | 'to' | 'port'> & Partial<Row>

/** The reply of the Service leaves by the NIC that the request came in by. */
function answered(request: Request, except: readonly Exception[] = []): Row {
  const source = request.from === 'node' ? 'A' : request.from
  return { source, device: request.to, ...request, except }
}

const wgOnSecond = (source: 'client' | 'P'): Exception[] =>
  mainFirst('A', source).map(exception => ({
    ...exception,
    layouts: ['two NICs in one subnet and one between them'],
  }))

export const serviceRows: Record<string, Row> = {
  'the node reaches a Service with an endpoint in N': {
    from: 'node',
    to: 'service',
    port: 'service',
    source: 'A',
    device: 'A',
    except: [{ ...noRouteBack, because: 'the blackhole covers the address of the Service' }],
  },
  'a Pod reaches a Service with an endpoint in N': {
    from: 'pod',
    to: 'service',
    port: 'service',
    source: 'A',
    device: 'A',
  },
  'a client on link reaches a NodePort Local at A': answered({ from: 'client', to: 'A', port: 'NodePort Local' }),
  'a client behind the gateway reaches a NodePort Local at A': answered(
    { from: 'far', to: 'A', port: 'NodePort Local' },
    forwardedFar,
  ),
  'a client on link reaches a NodePort Local at A over UDP': answered({
    from: 'client',
    to: 'A',
    port: 'NodePort Local',
    udp: true,
  }),
  'a client behind the gateway reaches a NodePort Local at B over UDP': answered(
    { from: 'far', to: 'B', port: 'NodePort Local', udp: true },
    forwardedFar,
  ),
  'a client on link reaches a NodePort Local at the second NIC of the subnet': answered(
    { from: 'client', to: 'A2', port: 'NodePort Local' },
    mainFirst('A', 'client'),
  ),
  'a client behind the gateway reaches a NodePort Local at the second NIC of the subnet': answered(
    { from: 'far', to: 'A2', port: 'NodePort Local' },
    forwardedFar,
  ),
  "a client in the primary's subnet reaches a NodePort Local at A": answered(
    { from: 'peer', to: 'A', port: 'NodePort Local' },
    [noRouter, ...mainFirst('P', 'peer')],
  ),
  "a client in the primary's subnet reaches a NodePort Local at the NIC in this subnet": answered(
    { from: 'peer', to: 'AP', port: 'NodePort Local' },
    mainFirst('P', 'peer'),
  ),
  "a client behind the gateway reaches a NodePort Local at the NIC in the primary's subnet": answered(
    { from: 'far', to: 'AP', port: 'NodePort Local' },
    forwardedFar,
  ),
  'a client in N reaches a NodePort Local at P by the router only over IPv6': answered(
    { from: 'client', to: 'P', port: 'NodePort Local' },
    [noRouter, strictPrimary, ...mainFirst('A', 'client', [6])],
  ),
  "a client in the primary's subnet reaches a NodePort Local at P": answered({
    from: 'peer',
    to: 'P',
    port: 'NodePort Local',
  }),
  'a far client reaches a NodePort Local at P': answered(
    { from: 'far', to: 'P', port: 'NodePort Local' },
    vpnDecidesReply,
  ),
  'a client on link reaches a NodePort Cluster at A with a local Pod': answered({
    from: 'client',
    to: 'A',
    port: 'NodePort Cluster, local Pod',
    source: 'cni0',
  }),
  'a client behind the gateway reaches a NodePort Cluster at A with a local Pod': answered(
    { from: 'far', to: 'A', port: 'NodePort Cluster, local Pod', source: 'cni0' },
    forwardedFar,
  ),
  'a client on link reaches a NodePort Cluster at A with a Pod of another node': answered({
    from: 'client',
    to: 'A',
    port: 'NodePort Cluster, remote Pod',
    source: 'P',
  }),
  'a client behind the gateway reaches a NodePort Cluster at B with a Pod of another node': answered(
    { from: 'far', to: 'B', port: 'NodePort Cluster, remote Pod', source: 'P' },
    forwardedFar,
  ),
  'a client behind the gateway reaches a NodePort Cluster with a Pod of another node over UDP': answered(
    { from: 'far', to: 'A', port: 'NodePort Cluster, remote Pod', source: 'P', udp: true },
    forwardedFar,
  ),
  'a client on link reaches a NodePort at A with a hostNetwork endpoint': answered({
    from: 'client',
    to: 'A',
    port: 'NodePort, hostNetwork endpoint',
  }),
  'a client behind the gateway reaches a NodePort at A with a hostNetwork endpoint': answered(
    { from: 'far', to: 'A', port: 'NodePort, hostNetwork endpoint' },
    ownFar,
  ),
  'a client on link reaches a NodePort with a hostNetwork endpoint over UDP': answered({
    from: 'client',
    to: 'A',
    port: 'NodePort, hostNetwork endpoint',
    udp: true,
  }),
  'a client behind the gateway reaches a NodePort with a hostNetwork endpoint over UDP': answered(
    { from: 'far', to: 'A', port: 'NodePort, hostNetwork endpoint', udp: true },
    ownFar,
  ),
  'a client on link reaches a Pod without masquerade by A': answered({
    from: 'client',
    to: 'routed pod',
    port: 'pod',
    device: 'A',
  }),
  'a client behind the gateway reaches a Pod without masquerade by A': answered(
    { from: 'far', to: 'routed pod', port: 'pod', device: 'A' },
    forwardedFar,
  ),
  'a client on link reaches an external IP': answered({ from: 'client', to: 'external IP', port: 'service' }),
  'a client behind the gateway reaches an external IP': answered(
    { from: 'far', to: 'external IP', port: 'service' },
    forwardedFar,
  ),
  'a client on link reaches a VIP on no interface': answered(
    { from: 'client', to: 'VIP-D', port: 'service' },
    wgOnSecond('client'),
  ),
  'a client behind the gateway reaches a VIP on no interface': answered(
    { from: 'far', to: 'VIP-D', port: 'service' },
    forwardedFar,
  ),
}
