/**
 * What the other OpenstackConfigs of the same cluster select: an interface that one object releases may belong to another.
 * An object that the policy refuses selects nothing.
 */
import { type OpenstackConfig, providerIdOf } from '../contract/openstack-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { Claim } from './observed-state.ts'
import type { Policy } from './policy.ts'
import { subnetRefsOf } from './subnets.ts'
import { serverIdOf } from './vms.ts'

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
    .map(other => ({
      source: keyOf(other),
      vmIds: [
        ...(other.spec.vmNames ?? []).flatMap(entry => serverIdOf(entry) ?? []),
        ...(other.spec.vmSelector ? selectedVms(keyOf(other)) : []),
      ],
      subnetIds: subnetRefsOf(other.spec).flatMap(({ id }) => id ?? []),
      indexes: (other.spec.subnets ?? []).flatMap(({ index }) => index ?? []),
    }))
}
