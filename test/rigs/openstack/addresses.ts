/**
 * Where the parts of a cloud of the rig are. The addresses are fixed: a cloud is alone in its world, and its state remembers
 * them (the catalog, Nova's cells), so that one that was made once can be started again in another world.
 */
import { join } from 'node:path'

export const host = '127.0.0.1'
export const ports = {
  keystone: 5000,
  neutron: 9696,
  nova: 8774,
  placement: 8778,
  glance: 9292,
  rabbit: 5672,
  rabbitNode: 25672,
  epmd: 4369,
  mariadb: 3306,
} as const

export const region = 'RegionOne'
/** Where every server is and every bound port gets its link. */
export const computeHost = 'compute-1'
export const passwords = { admin: 'admin-secret', service: 'service-secret', database: 'database-secret' } as const
export const rabbitLogin = { user: 'openstack', password: 'rabbit-secret' } as const

export function urlOf(part: 'keystone' | 'neutron' | 'nova' | 'placement' | 'glance'): string {
  return `http://${host}:${ports[part]}`
}

export interface Places {
  dir: string
  etc: string
  log: string
  run: string
  tmp: string
  /** All that makes a cloud the one it is: databases, keys, images. Kept for the next start. */
  state: string
}

export function placesIn(dir: string): Places {
  const below = (name: string) => join(dir, name)
  return {
    dir,
    etc: below('etc'),
    log: below('log'),
    run: below('run'),
    tmp: below('tmp'),
    state: below('state'),
  }
}
