/**
 * The faults and user actions that chaos must cover, and the short histories that cover them all.
 */
import type { FaultName } from '../../sandbox/faults/catalogue.ts'
import { type Action, historyOf, type Step } from './history.ts'

const responseFaults = (kind: 'unauthorized' | 'throttled' | 'failing' | 'garbled' | 'truncated' | 'empty' | 'slow') =>
  [`${kind}-neutron`, `${kind}-nova`] as const

export const requiredFaults = {
  'kill -9 of each component': ['killed-operator', 'killed-viola', 'killed-controller', 'killed-agent'],
  'lost notifications': ['lost-notifications'],
  'duplicated notifications': ['duplicated-notifications'],
  'reordered notifications': ['reordered-notifications'],
  'broker restarts': ['restarted-broker'],
  'revoked tokens': ['revoked-tokens'],
  'Neutron and Nova answer 401': responseFaults('unauthorized'),
  'Neutron and Nova answer 429': responseFaults('throttled'),
  'Neutron and Nova answer 500': responseFaults('failing'),
  'Neutron and Nova answer invalid JSON': responseFaults('garbled'),
  'Neutron and Nova close the connection in the middle of a response': responseFaults('truncated'),
  'Neutron and Nova answer with an empty body': responseFaults('empty'),
  'Neutron and Nova are slow': responseFaults('slow'),
  'Viola is unreachable': ['stopped-viola'],
  'an API server is unreachable': ['unreachable-management-api', 'unreachable-biz-api'],
  conflicts: ['conflicts'],
  'compacted watches': ['compacted-watches'],
  'the clock of the cloud jumps': ['wrong-clock'],
  'a full disk': ['full-disk'],
  'a read-only /etc': ['read-only-etc'],
  'a NIC is unplugged during its configuration': ['unplugged-nics'],
  'carrier loss': ['no-carrier'],
  'a duplicate IP address': ['duplicate-address'],
} satisfies Record<string, readonly FaultName[]>

export const requiredActions: Record<string, (action: Action) => boolean> = {
  'a port is attached': ({ action }) => action === 'attach',
  'a port is detached': ({ action }) => action === 'detach',
  'a network changes': ({ action }) => action === 'mtu',
  'the addresses of a port change': ({ action }) => action === 'addresses',
  'the gateway of a subnet changes': ({ action }) => action === 'gateway',
  'the host routes of a subnet change': step => step.action === 'routes' && step.count > 0,
  'a VM is renamed': ({ action }) => action === 'rename',
  'a node reboots': ({ action }) => action === 'reboot',
  'a user edits an OpenstackConfig': ({ action }) => action === 'exclude-vm' || action === 'include-vm',
  'a user edits the subnets of an OpenstackConfig': ({ action }) => action === 'exclude-subnet',
  'a user rolls the agent out': ({ action }) => action === 'rollout',
  'somebody changes a NIC by hand': ({ action }) => action === 'drift',
  'a user edits a MultiNicNodeConfig': ({ action }) => action === 'pause' || action === 'resume',
  'a user deletes Jobs': ({ action }) => action === 'delete-jobs',
  'the clock of the operator jumps': step => step.action === 'clock' && step.component.endsWith('operator'),
  'the clock of Viola jumps': step => step.action === 'clock' && step.component === 'viola',
  'the clock of the controller jumps': step => step.action === 'clock' && step.component.endsWith('controller'),
  'the leader of two operators loses the API server': step =>
    step.action === 'partition' && step.component === 'operator',
  'the leader of two controllers loses the API server': step =>
    step.action === 'partition' && step.component === 'controller',
}

export const shortVms = ['worker-1', 'worker-2', 'worker-3']
export const shortSeeds = [2, 202] as const

/** Each seed gets its share of the required faults. */
export function shortHistory(seed: (typeof shortSeeds)[number]): Step[] {
  const all = Object.values(requiredFaults).flat()
  const faults = all.filter((_, index) => index % shortSeeds.length === shortSeeds.indexOf(seed))
  return historyOf(seed, { steps: 40, vms: shortVms, subnets: ['storage', 'backup'], faults })
}
