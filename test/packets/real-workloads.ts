/**
 * The same workloads as in `ports.ts`, for real parts: the network of the Pod for the CNI plugins, and the objects for kube-proxy.
 *
 * Pure.
 */
import { addressOf as addressIn, type Family, families, type Name } from './addresses.ts'
import type { Row } from './expectations.ts'
import { ports } from './ports.ts'
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
    outside: {
      endpoint: { name: 'client', port: ports.server, isRemote: true },
      port: ports.service,
      spec: { type: 'ClusterIP', clusterIP: addresses('service')[0], clusterIPs: addresses('service') },
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

/** Rows that the simulated workloads do not have. */
const more: Record<string, Row> = {}
for (const [client, from] of [
  ['a client on link', 'client'],
  ['a client behind the gateway', 'far'],
] as const) {
  for (const udp of [false, true]) {
    const over = udp ? ' over UDP' : ''
    const base = { from, source: from, ...(udp && { udp: true as const }) }
    more[`${client} reaches a hostPort at A${over}`] = { ...base, to: 'A', port: 'hostPort', device: 'A' }
    more[`${client} reaches a hostPort at B${over}`] = { ...base, to: 'B', port: 'hostPort', device: 'B' }
    more[`${client} reaches a LoadBalancer address with Cluster policy${over}`] = {
      ...{ ...base, to: 'VIP-D', port: 'service, Cluster policy', source: 'cni0', device: 'VIP-D' },
    }
    more[`${client} reaches an external IP with Cluster policy${over}`] = {
      ...{ ...base, to: 'external IP', port: 'service, Cluster policy', source: 'cni0', device: 'external IP' },
    }
  }
}

/** The rows of the suite that use a Service or the Pod of the node, and those above. */
export const realRows: Readonly<Record<string, Row>> = {
  ...Object.fromEntries(
    Object.entries(table).filter(
      ([, { from, port }]) => from === 'pod' || (port !== 'host' && port !== 'server' && port !== 'pod'),
    ),
  ),
  ...more,
}
