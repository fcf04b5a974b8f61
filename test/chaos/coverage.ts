/**
 * What chaos is promised to bring about, and the faults and acts that do it; and the short form of it, which has them all.
 */
import type { FaultName } from '../../sandbox/faults/catalogue.ts'
import { type Act, historyOf, type Step } from './history.ts'

const answers = (manner: 'unauthorized' | 'throttled' | 'failing' | 'garbled' | 'truncated' | 'empty' | 'slow') =>
  [`${manner}-neutron`, `${manner}-nova`] as const

export const promisedFaults = {
  'kill -9 of each part': ['killed-operator', 'killed-viola', 'killed-controller', 'killed-agent'],
  'lost notices': ['lost-notifications'],
  'duplicated notices': ['duplicated-notifications'],
  'reordered notices': ['reordered-notifications'],
  'broker restarts': ['restarted-broker'],
  'a token that is revoked': ['revoked-tokens'],
  'Neutron and Nova answer 401': answers('unauthorized'),
  'Neutron and Nova answer 429': answers('throttled'),
  'Neutron and Nova answer 500': answers('failing'),
  'Neutron and Nova answer garbage': answers('garbled'),
  'Neutron and Nova break off': answers('truncated'),
  'Neutron and Nova answer nothing': answers('empty'),
  'Neutron and Nova are slow': answers('slow'),
  'Viola is away': ['stopped-viola'],
  'an API server is away': ['unreachable-management-api', 'unreachable-biz-api'],
  conflicts: ['conflicts'],
  'compacted watches': ['compacted-watches'],
  'the cloud’s clock jumps': ['wrong-clock'],
  'a full disk': ['full-disk'],
  'a read-only /etc': ['read-only-etc'],
  'a NIC is unplugged while it is configured': ['unplugged-nics'],
  'carrier loss': ['no-carrier'],
  'a duplicate IP': ['duplicate-address'],
} satisfies Record<string, readonly FaultName[]>

export const promisedActs: Record<string, (act: Act) => boolean> = {
  'a port is attached': ({ act }) => act === 'attach',
  'a port is detached': ({ act }) => act === 'detach',
  'a network changes': ({ act }) => act === 'mtu',
  'a node reboots': ({ act }) => act === 'reboot',
  'a person edits an OpenstackConfig': ({ act }) => act === 'leave' || act === 'join',
  'a person edits a MultiNicNodeConfig': ({ act }) => act === 'pause' || act === 'resume',
  'a person deletes Jobs': ({ act }) => act === 'delete-jobs',
  'the clock of the operator jumps': act => act.act === 'clock' && act.part.endsWith('operator'),
  'the clock of Viola jumps': act => act.act === 'clock' && act.part === 'viola',
  'the clock of the controller jumps': act => act.act === 'clock' && act.part.endsWith('controller'),
  'two operators with a partition': act => act.act === 'partition' && act.part === 'operator',
  'two controllers with a partition': act => act.act === 'partition' && act.part === 'controller',
}

export const shortVms = ['worker-1', 'worker-2', 'worker-3']
export const shortSeeds = [673, 1_192] as const

/** The promised faults are dealt out to the seeds. */
export function shortHistory(seed: (typeof shortSeeds)[number]): Step[] {
  const all = Object.values(promisedFaults).flat()
  const words = all.filter((_, at) => at % shortSeeds.length === shortSeeds.indexOf(seed))
  return historyOf(seed, { steps: 36, vms: shortVms, subnets: ['storage', 'backup'], words })
}
