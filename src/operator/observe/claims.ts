/**
 * What the other OpenstackConfigs of the same cluster select: an interface that one object releases may belong to another.
 * An object that the policy refuses selects nothing.
 */

import { serverIdOf } from '../../contract/machine.ts'
import { type OpenstackConfig, providerIdOf } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Policy } from '../limits/policy.ts'
import type { Claim } from '../plan/observed-state.ts'
import { subnetRefsOf } from '../plan/subnet-refs.ts'

interface ClaimOptions {
  providerId: string
  source: string
  /** VMs that the last sync of an object found with its vmSelector. */
  selectedVms: (source: string) => readonly string[]
}

export function claimsOf(
  all: readonly OpenstackConfig[],
  { admits }: Pick<Policy, 'admits'>,
  { providerId, source, selectedVms }: ClaimOptions,
): Claim[] {
  return all
    .filter(other => keyOf(other) !== source && providerIdOf(other) === providerId && !other.metadata.deletionTimestamp)
    .filter(admits)
    .map(other => {
      const claim = claimOf(other)
      if (!other.spec.vmSelector) return claim
      return { ...claim, vmIds: [...claim.vmIds, ...selectedVms(keyOf(other))] }
    })
}

/** Of the objects as they are now. Each plan keeps the claims of all others: copies would grow with the square of the objects. */
const known = new WeakMap<OpenstackConfig, Claim>()

/** What the object selects without its vmSelector. */
function claimOf(config: OpenstackConfig): Claim {
  const claim = known.get(config) ?? {
    source: keyOf(config),
    vmIds: (config.spec.vmNames ?? []).flatMap(entry => serverIdOf(entry) ?? []),
    subnetIds: subnetRefsOf(config.spec).flatMap(({ id }) => id ?? []),
    indexes: (config.spec.subnets ?? []).flatMap(({ index }) => index ?? []),
    ...(config.status?.reservedIndexes && { reservedIndexes: config.status.reservedIndexes }),
  }
  known.set(config, claim)
  return claim
}
