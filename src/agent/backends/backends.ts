/**
 * The backends. A host gets the first one that recognizes it.
 *
 * Pure.
 */
import { type Backend, backendNames } from '../../contract/backend.ts'
import type { Paths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'
import type { BackendRules } from './backend.ts'
import { ifcfg } from './ifcfg.ts'
import { netplan } from './netplan.ts'
import { networkmanager } from './networkmanager.ts'

export const backends: Readonly<Record<Backend, BackendRules>> = { netplan, ifcfg, networkmanager }

export const allBackends: readonly BackendRules[] = Object.values(backends)

/** The directories to which a backend of some host writes, in the order of the contract. */
export function backendDirectoriesIn(paths: Paths): string[] {
  return backendNames.map(name => backends[name].directory(paths))
}

/** Whether NetworkManager configures the NIC at boot. */
export function isReadByNetworkManager(backend: Backend, { managers }: Pick<Observed, 'managers'>): boolean {
  const { readByNetworkManager: when } = backends[backend]
  return when === 'always' || (when === 'ifRunning' && Object.keys(managers).length > 0)
}
