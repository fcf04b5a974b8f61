/**
 * What the other OpenstackConfigs of the same cluster select: an interface that one object releases may belong to another.
 * An object that the policy refuses selects nothing.
 */
import { type OpenstackConfig, providerIdOf } from '../contract/openstack-config.ts'
import { keyOf } from '../kube/keys.ts'
import { selectorOf, serverIdOf } from './observe.ts'
import type { Claim } from './observed-state.ts'
import type { Policy } from './policy.ts'

export function claimsOf(
  all: readonly OpenstackConfig[],
  { admits }: Pick<Policy, 'admits'>,
  providerId: string,
  source: string,
): Claim[] {
  return all
    .filter(other => keyOf(other) !== source && providerIdOf(other) === providerId && !other.metadata.deletionTimestamp)
    .filter(admits)
    .map(other => ({
      source: keyOf(other),
      vmIds: other.spec.vmNames.flatMap(entry => serverIdOf(entry) ?? []),
      subnetIds: subnetIdsOf(other),
    }))
}

function subnetIdsOf({ spec }: OpenstackConfig): string[] {
  if (!spec.subnetIDs?.length && !spec.subnetID) return []
  const selector = selectorOf(spec)
  return 'ids' in selector ? selector.ids : []
}
