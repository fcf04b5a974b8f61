/**
 * Addresses and directories of a cloud. The addresses are fixed: a cloud has its own network namespace, and its saved state
 * contains them (catalog, Nova cells), so that the state can be used again.
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
/** The host of all servers and bound ports. */
export const computeHost = 'compute-1'
export const passwords = { admin: 'admin-secret', service: 'service-secret', database: 'database-secret' } as const
export const rabbitLogin = { user: 'openstack', password: 'rabbit-secret' } as const

export function urlOf(service: 'keystone' | 'neutron' | 'nova' | 'placement' | 'glance'): string {
  return `http://${host}:${ports[service]}`
}

export interface Directories {
  dir: string
  etc: string
  log: string
  run: string
  tmp: string
  /** Databases, keys and images. Cached for the next start. */
  state: string
}

export function directoriesIn(dir: string): Directories {
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
