/**
 * The same workloads as in `ports.ts`, for real parts: the network of the Pod for the CNI plugins, and the objects for kube-proxy.
 *
 * Pure.
 */
import { addressOf as addressIn, type Family, families, type Name } from './addresses.ts'
import type { Row } from './expectations.ts'
import { type Port, ports } from './ports.ts'
import { table } from './table.ts'

export const nodeName = 'worker-1'
export const clusterCIDR = '10.244.0.0/16,fd00:244::/32'
export const serviceRanges = '10.96.0.0/24,fd00:96::/112'

/** Of names that have the same address in every layout. */
function addressOf(name: Name, family: Family): string {
  const address = addressIn(name, 'one NIC', family)
  if (address === undefined) throw new Error(`no fixed address ${name}`)
  return address
}

const protocols = ['TCP', 'UDP'] as const

/** A bridge that masquerades, and host ports. */
export function podNetwork(backend: 'iptables' | 'nftables') {
  const addresses = [
    { address: '10.244.0.5/24', gateway: '10.244.0.1' },
    { address: 'fd00:244::5/64', gateway: 'fd00:244::1' },
  ]
  const routes = [{ dst: '0.0.0.0/0' }, { dst: '::/0' }]
  const portMappings = protocols.map(protocol => ({
    hostPort: ports.hostPort,
    containerPort: ports.pod,
    protocol: protocol.toLowerCase(),
  }))
  return {
    name: 'pods',
    plugins: [
      {
        ...{ type: 'bridge', bridge: 'cni0', isGateway: true, ipMasq: true, ipMasqBackend: backend, hairpinMode: true },
        ipam: { type: 'static', addresses, routes },
      },
      { type: 'portmap', backend, capabilities: { portMappings: true }, runtimeConfig: { portMappings } },
    ],
  }
}

interface Service {
  /** Behind it: the address and its port. `isRemote`: on another node. */
  endpoint: { name: Name; port: number; isRemote?: boolean }
  port: number
  spec: Record<string, unknown>
  ingress?: readonly Name[]
}

const nodePort = (policy: 'Local' | 'Cluster') => ({ type: 'NodePort', externalTrafficPolicy: policy })
const pod = { name: 'pod', port: ports.pod } as const

function services(): Record<string, Service> {
  const addresses = (name: Name) => families.map(family => addressOf(name, family))
  return {
    // Its address must not have been given to another one.
    outside: {
      endpoint: { name: 'client', port: ports.server, isRemote: true },
      port: ports.service,
      spec: { type: 'ClusterIP', clusterIP: addresses('service')[0], clusterIPs: addresses('service') },
    },
    'node-port-local': { endpoint: pod, port: ports['NodePort Local'], spec: nodePort('Local') },
    'node-port-cluster': { endpoint: pod, port: ports['NodePort Cluster, local Pod'], spec: nodePort('Cluster') },
    'node-port-remote': {
      endpoint: { name: 'remote pod', port: ports.pod, isRemote: true },
      port: ports['NodePort Cluster, remote Pod'],
      spec: nodePort('Cluster'),
    },
    'node-port-host': {
      endpoint: { name: 'P', port: ports.host },
      port: ports['NodePort, hostNetwork endpoint'],
      spec: nodePort('Cluster'),
    },
    'addresses-local': {
      endpoint: pod,
      port: ports.service,
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', externalIPs: addresses('external IP') },
      ingress: ['VIP-D'],
    },
    'addresses-cluster': {
      endpoint: pod,
      port: ports['service, Cluster policy'],
      spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Cluster', externalIPs: addresses('external IP') },
      ingress: ['VIP-D'],
    },
  }
}

/** The objects to create, and the status of the Services whose addresses a load balancer would announce. */
export function clusterObjects(): { objects: object[]; status: Record<string, object> } {
  const all = Object.entries(services())
  const ipsOf = (name: Name) => families.map(family => ({ ip: addressOf(name, family) }))
  return {
    objects: all.flatMap(([name, service]) => [
      serviceObject(name, service),
      ...families.map(family => endpointSlice(name, service, family)),
    ]),
    status: Object.fromEntries(
      all.flatMap(([name, { ingress }]) =>
        ingress ? [[name, { status: { loadBalancer: { ingress: ingress.flatMap(ipsOf) } } }]] : [],
      ),
    ),
  }
}

export function nodeObject(): { object: object; status: object } {
  const addresses = families.map(family => ({ type: 'InternalIP', address: addressOf('P', family) }))
  return {
    object: { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } },
    status: { status: { addresses } },
  }
}

function serviceObject(name: string, { port, endpoint, spec }: Service): object {
  const isNodePort = spec['type'] === 'NodePort'
  return {
    ...{ apiVersion: 'v1', kind: 'Service', metadata: { name } },
    spec: {
      ipFamilyPolicy: 'RequireDualStack',
      ipFamilies: ['IPv4', 'IPv6'],
      ...(spec['type'] === 'LoadBalancer' && { allocateLoadBalancerNodePorts: false }),
      ports: protocols.map(protocol => ({
        name: protocol.toLowerCase(),
        ...{ protocol, port: isNodePort ? 80 : port, targetPort: endpoint.port },
        ...(isNodePort && { nodePort: port }),
      })),
      ...spec,
    },
  }
}

function endpointSlice(name: string, { endpoint }: Service, family: Family): object {
  return {
    ...{ apiVersion: 'discovery.k8s.io/v1', kind: 'EndpointSlice', addressType: `IPv${family}` },
    metadata: { name: `${name}-${family}`, labels: { 'kubernetes.io/service-name': name } },
    endpoints: [
      {
        addresses: [addressOf(endpoint.name, family)],
        conditions: { ready: true },
        nodeName: endpoint.isRemote ? 'worker-2' : nodeName,
      },
    ],
    ports: protocols.map(protocol => ({ name: protocol.toLowerCase(), protocol, port: endpoint.port })),
  }
}

const clients = { 'a client on link': 'client', 'a client behind the gateway': 'far' } as const
const own = { 'the node': 'node', 'a Pod': 'pod' } as const

/** Rows that the simulated workloads do not have. */
const fromOutside: Record<string, Row> = Object.fromEntries(
  Object.entries(clients).flatMap(([client, from]) =>
    [false, true].flatMap(udp => {
      const row = (what: string, to: Name, port: Port, source: Name = from): [string, Row] => [
        `${client} reaches ${what}${udp ? ' over UDP' : ''}`,
        { from, to, port, ...(udp && { udp }), source, device: to },
      ]
      return [
        row('a hostPort at A', 'A', 'hostPort'),
        row('a hostPort at B', 'B', 'hostPort'),
        row('a VIP on no interface with Cluster policy', 'VIP-D', 'service, Cluster policy', 'cni0'),
        row('an external IP with Cluster policy', 'external IP', 'service, Cluster policy', 'cni0'),
      ]
    }),
  ),
)

/** The node's own addresses are reached over lo: only what leads to another node leaves the node. */
const fromInside: Record<string, Row> = Object.fromEntries(
  Object.entries(own).flatMap(([client, from]) => {
    const row = (what: string, to: Name, port: Port, source: Name, device: Row['device'] = 'none'): [string, Row] => [
      `${client} reaches ${what} ${to}`,
      { from, to, port, source, device },
    ]
    const isNode = from === 'node'
    return [
      ...(['A', 'B', 'VIP'] as const).flatMap(to => [
        row('a NodePort Cluster with a Pod of another node at', to, 'NodePort Cluster, remote Pod', 'P', 'P'),
        row('a NodePort Local at', to, 'NodePort Local', 'cni0'),
        row('a NodePort with a hostNetwork endpoint at', to, 'NodePort, hostNetwork endpoint', isNode ? 'P' : 'pod'),
        row('a hostPort at', to, 'hostPort', isNode ? to : 'cni0'),
      ]),
      ...(['VIP-D', 'external IP'] as const).flatMap(to => [
        row('a Service with Cluster policy at', to, 'service, Cluster policy', 'cni0'),
        row('a Service with Local policy at', to, 'service', 'cni0'),
      ]),
    ]
  }),
)

/** The rows of the suite that use a Service or the Pod of the node, which the plugin masquerades, and those above. */
export const realRows: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(
    Object.entries(table).filter(
      ([, { from, bind, port }]) =>
        (from === 'pod' && bind === undefined) || (port !== 'host' && port !== 'server' && port !== 'pod'),
    ),
  ),
  ...fromOutside,
  ...fromInside,
}
