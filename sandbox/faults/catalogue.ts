/**
 * Every fault that the sandbox can inject: its name, the component it affects, what happens and how it recovers. Data only; the
 * injectors are in the files beside this one.
 */
import { type ResponseFault, type Service, services } from '../cloud/state.ts'

export type ResponseFaultName = `${ResponseFault}-${Service}`
export type CloudFaultName = 'revoked-tokens' | 'short-tokens' | 'lost-role' | 'small-pages' | 'wrong-clock'
export type BusFaultName =
  | 'lost-notifications'
  | 'duplicated-notifications'
  | 'reordered-notifications'
  | 'lost-broker'
  | 'restarted-broker'
export type ClusterFaultName =
  | 'unreachable-management-api'
  | 'unreachable-biz-api'
  | 'conflicts'
  | 'compacted-watches'
  | `${'killed' | 'frozen' | 'stopped'}-${'operator' | 'viola' | 'controller'}`
export type NodeFaultName =
  | 'killed-agent'
  | 'full-disk'
  | 'read-only-etc'
  | 'late-nics'
  | 'unplugged-nics'
  | 'no-carrier'
  | 'duplicate-address'
  | 'cut-off-node'
export type FaultName = ResponseFaultName | CloudFaultName | BusFaultName | ClusterFaultName | NodeFaultName

export interface Fault {
  component: string
  effect: string
  recovery: string
  /** An event rather than a state: it is over as soon as it has happened. */
  oneShot?: true
  /** Affects nodes: either the named one or all of them. */
  perNode?: true
}

const serviceNames: Record<Service, string> = {
  keystone: 'Keystone',
  neutron: 'Neutron',
  nova: 'Nova',
  contrabass: 'Contrabass',
}

const responseEffects: Record<ResponseFault, string> = {
  failing: 'answers 500',
  unauthorized: 'answers 401 to every token',
  throttled: 'answers 429 with Retry-After: 1',
  garbled: 'answers with a success status and a body that is not JSON',
  truncated: 'closes the connection in the middle of each response',
  empty: 'answers with a success status and an empty body',
  slow: 'takes 2 seconds for each response',
  silent: 'accepts requests and never answers',
}

const responseFaults = Object.fromEntries(
  services.flatMap(service =>
    (Object.keys(responseEffects) as ResponseFault[]).map(fault => [
      `${fault}-${service}`,
      { component: serviceNames[service], effect: responseEffects[fault], recovery: 'it answers normally' },
    ]),
  ),
) as Record<ResponseFaultName, Fault>

const cloudFaults: Record<CloudFaultName, Fault> = {
  'revoked-tokens': {
    component: 'Keystone',
    effect: 'revokes all tokens',
    recovery: 'immediately: clients log in again',
    oneShot: true,
  },
  'short-tokens': {
    component: 'Keystone',
    effect: 'revokes all tokens and issues new ones that expire after 2 seconds',
    recovery: 'new tokens last an hour',
  },
  'lost-role': {
    component: 'Keystone',
    effect: 'ignores the role of the user: Neutron answers 200 with an empty list, Nova 403',
    recovery: 'the role is back',
  },
  'small-pages': {
    component: 'Neutron',
    effect: 'returns 2 entries per page, and so does Nova',
    recovery: 'pages have their usual size',
  },
  'wrong-clock': {
    component: 'the cloud',
    effect: 'has a clock that is an hour fast',
    recovery: 'the clock is right; timestamps issued meanwhile are an hour in the future',
  },
}

const bus = 'the message bus (requires --rabbitmq local)'

const busFaults: Record<BusFaultName, Fault> = {
  'lost-notifications': { component: bus, effect: 'drops every notification', recovery: 'new ones arrive' },
  'duplicated-notifications': {
    component: bus,
    effect: 'delivers each notification twice',
    recovery: 'each arrives once',
  },
  'reordered-notifications': {
    component: bus,
    effect: 'delays notifications and delivers them in reverse order',
    recovery: 'delayed ones arrive',
  },
  'lost-broker': { component: bus, effect: 'is killed and stays down', recovery: 'the broker starts' },
  'restarted-broker': { component: bus, effect: 'is killed and restarted', recovery: 'when it is up', oneShot: true },
}

const componentNames = { operator: 'the operator', viola: 'Viola', controller: 'the controller' }
const components = Object.keys(componentNames) as (keyof typeof componentNames)[]

const clusterFaults = {
  'unreachable-management-api': {
    component: 'the API server of the management cluster',
    effect: 'closes every connection',
    recovery: 'it serves requests',
  },
  'unreachable-biz-api': {
    component: 'the API server of the Biz cluster',
    effect: 'closes every connection',
    recovery: 'it serves requests',
  },
  conflicts: {
    component: 'both API servers',
    effect: 'answer every second update of an object with 409',
    recovery: 'updates are accepted',
  },
  'compacted-watches': {
    component: 'both API servers',
    effect: 'end all watches and compact their history: clients that resume get 410',
    recovery: 'immediately: clients list again',
    oneShot: true,
  },
  ...Object.fromEntries(
    components.flatMap((name): [string, Fault][] => {
      const component = componentNames[name]
      return [
        [
          `killed-${name}`,
          { component, effect: 'is killed (SIGKILL)', recovery: 'it restarts immediately', oneShot: true },
        ],
        [
          `frozen-${name}`,
          { component, effect: 'is frozen (SIGSTOP): connections stay open', recovery: 'it continues (SIGCONT)' },
        ],
        [`stopped-${name}`, { component, effect: 'is killed and not restarted', recovery: 'it starts' }],
      ]
    }),
  ),
} as Record<ClusterFaultName, Fault>

const nodeFaults: Record<NodeFaultName, Fault> = {
  'killed-agent': {
    component: 'the agent',
    effect: 'is killed (SIGKILL) within 250 ms of each start, a little later each time',
    recovery: 'the kubelet restarts it and it runs to completion',
    perNode: true,
  },
  'full-disk': {
    component: 'nodes',
    effect: 'have a full disk: no file in /etc or /var/lib can be created, written or removed',
    recovery: 'the disk has free space',
    perNode: true,
  },
  'read-only-etc': { component: 'nodes', effect: 'have a read-only /etc', recovery: '/etc is writable', perNode: true },
  'late-nics': {
    component: 'nodes',
    effect: 'detect a hot-plugged NIC only after 20 seconds',
    recovery: 'new NICs appear with the usual delay',
  },
  'unplugged-nics': {
    component: 'nodes',
    effect: 'lose a new NIC while the agent configures it; the port stays attached',
    recovery: 'the NICs are back, unconfigured',
    perNode: true,
  },
  'no-carrier': {
    component: 'nodes',
    effect: 'have no carrier on their multinic NICs, including new ones',
    recovery: 'the carrier is back',
    perNode: true,
  },
  'duplicate-address': {
    component: 'nodes',
    effect: 'share the addresses of their multinic NICs, including new ones, with another host on the network',
    recovery: 'the other host is gone',
    perNode: true,
  },
  'cut-off-node': {
    component: 'nodes',
    effect: 'have no carrier on their primary NIC',
    recovery: 'the carrier is back',
    perNode: true,
  },
}

export const catalogue: Record<FaultName, Fault> = {
  ...responseFaults,
  ...cloudFaults,
  ...busFaults,
  ...clusterFaults,
  ...nodeFaults,
}

export const faultNames = Object.keys(catalogue) as FaultName[]

export function isFaultName(text: string): text is FaultName {
  return Object.hasOwn(catalogue, text)
}

/** One line per fault, for the terminal. */
export function catalogueText(): string {
  const width = Math.max(...faultNames.map(name => name.length))
  return faultNames
    .map(name => {
      const { component, effect, recovery, perNode } = catalogue[name]
      return `${name.padEnd(width)}  ${component} ${effect}; recovery: ${recovery}${perNode ? ' [--node]' : ''}`
    })
    .join('\n')
}
