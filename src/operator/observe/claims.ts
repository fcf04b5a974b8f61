/**
 * What the other OpenstackConfigs of the same cluster select: an interface that one object releases may belong to another.
 * An object that the policy refuses selects nothing.
 */

import { equalJson } from '../../contract/json.ts'
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

export type ClaimsOf = (all: readonly OpenstackConfig[], options: ClaimOptions) => Claim[]

/** What an object selects without its vmSelector, and what that was read from. */
interface KnownClaim {
  spec: OpenstackConfig['spec']
  policyVersion: number
  isAdmitted: boolean
  claim: Claim
}

/**
 * Keeps the claim of each object until its spec or the policy changes. Each plan keeps the claims of all others: copies would
 * grow with the square of the objects.
 */
export function createClaims(policy: Pick<Policy, 'admits' | 'version'>): ClaimsOf {
  let known: ReadonlyMap<string, KnownClaim> = new Map()

  function current(config: OpenstackConfig, before: KnownClaim | undefined): KnownClaim {
    const policyVersion = policy.version()
    const isKnown = before?.policyVersion === policyVersion && equalJson(before.spec, config.spec)
    const { spec, isAdmitted } = isKnown ? before : { spec: config.spec, isAdmitted: policy.admits(config) }
    const isSame = isKnown && equalJson(before.claim.reservedIndexes, config.status?.reservedIndexes)
    return { spec, policyVersion, isAdmitted, claim: isSame ? before.claim : claimOf(config) }
  }

  return (all, { providerId, source, selectedVms }) => {
    const now = new Map<string, KnownClaim>()
    const claims: Claim[] = []
    for (const other of all) {
      const key = keyOf(other)
      const isConcerned = key !== source && providerIdOf(other) === providerId && !other.metadata.deletionTimestamp
      const entry = isConcerned ? current(other, known.get(key)) : known.get(key)
      if (entry) now.set(key, entry)
      if (!entry?.isAdmitted || !isConcerned) continue
      const { claim } = entry
      claims.push(other.spec.vmSelector ? { ...claim, vmIds: [...claim.vmIds, ...selectedVms(key)] } : claim)
    }
    known = now
    return claims
  }
}

function claimOf(config: OpenstackConfig): Claim {
  return {
    source: keyOf(config),
    vmIds: (config.spec.vmNames ?? []).flatMap(entry => serverIdOf(entry) ?? []),
    subnetIds: subnetRefsOf(config.spec).flatMap(({ id }) => id ?? []),
    indexes: (config.spec.subnets ?? []).flatMap(({ index }) => index ?? []),
    ...(config.status?.reservedIndexes && { reservedIndexes: config.status.reservedIndexes }),
  }
}
