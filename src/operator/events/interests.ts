/**
 * Which OpenstackConfigs a notification concerns: those that know its port (listed or delivered earlier), its server, its
 * subnet or its network.
 *
 * The notification of a detach names no server, and no notification names an OpenstackConfig. Only earlier reads connect
 * the two.
 */
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Subject } from '../cloud.ts'
import type { Observed } from '../plan/observed-state.ts'
import { subnetRefsOf } from '../plan/subnet-refs.ts'

/** Tags such as `port ID`, `server ID`, `subnet ID`. */
export type Interest = ReadonlySet<string>

const anyServer = 'server *'

export function interestOf({ spec }: OpenstackConfig, observed: Observed): Interest {
  const { source, vms, ports, delivered, subnets } = observed
  const own = delivered.flatMap(node => node.interfaces.filter(nic => nic.source === source))
  return new Set([
    ...ports.map(({ id }) => `port ${id}`),
    ...own.flatMap(({ portId }) => (portId === undefined ? [] : [`port ${portId}`])),
    ...vms.flatMap(({ id, entry }) => [...(id === undefined ? [] : [`server ${id}`]), `server-name ${entry}`]),
    ...(spec.vmSelector ? [anyServer] : []),
    ...subnets.flatMap(({ id, networkId }) => [`subnet ${id}`, `network ${networkId}`]),
    ...subnetRefsOf(spec).flatMap(({ name }) => (name ? [`subnet-name ${name}`] : [])),
  ])
}

function tagsOf(subject: Subject): string[] {
  switch (subject.about) {
    case 'port':
      return [`port ${subject.id}`, `server ${subject.deviceId}`]
    case 'server':
      return [`server ${subject.id}`, `server-name ${subject.name}`, ...(subject.interfaces ? [] : [anyServer])]
    case 'subnet':
      return [`subnet ${subject.id}`, `subnet-name ${subject.name}`]
    case 'network':
      return [`network ${subject.id}`]
  }
}

export interface Interests {
  set(key: string, interest: Interest): void
  delete(key: string): void
  /** The objects that a subject concerns. */
  of(subject: Subject): Set<string>
}

/** Indexed by tag: the cost of a notification does not grow with the number of VMs. */
export function createInterests(): Interests {
  const byKey = new Map<string, Interest>()
  const byTag = new Map<string, Set<string>>()

  function drop(key: string, tag: string): void {
    const keys = byTag.get(tag)
    keys?.delete(key)
    if (keys?.size === 0) byTag.delete(tag)
  }

  return {
    set(key, interest) {
      for (const tag of byKey.get(key) ?? []) if (!interest.has(tag)) drop(key, tag)
      for (const tag of interest) byTag.set(tag, (byTag.get(tag) ?? new Set()).add(key))
      byKey.set(key, interest)
    },
    delete(key) {
      for (const tag of byKey.get(key) ?? []) drop(key, tag)
      byKey.delete(key)
    },
    of: subject => new Set(tagsOf(subject).flatMap(tag => [...(byTag.get(tag) ?? [])])),
  }
}
