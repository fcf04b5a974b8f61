/**
 * The subnets that an OpenstackConfig selects, by ID or by name, each with the index of its interfaces if it has one.
 */
import { interfaceName } from '../../contract/interfaces.ts'
import type { Cloud, Subnet } from '../cloud.ts'
import type { SelectedSubnet } from '../plan/observed-state.ts'
import type { SubnetRef } from '../plan/subnet-refs.ts'
import { configError, SyncError, stage } from '../sync-error.ts'

export async function selectedSubnets(
  cloud: Cloud,
  refs: readonly SubnetRef[],
  signal: AbortSignal,
): Promise<SelectedSubnet[]> {
  if (refs.length === 0)
    throw new SyncError('SubnetRequired', 'no subnet is selected: set subnets, subnetIDs, subnetID or subnetName')
  const ids = refs.flatMap(({ id }) => id ?? [])
  const [byId, ...named] = await stage('NeutronSubnetError', () =>
    Promise.all([
      cloud.subnets(ids, signal),
      ...refs.map(({ name }) => (name ? cloud.subnetsByName(name, signal) : [])),
    ]),
  )
  const candidates = refs.map(({ id }, n): Subnet[] => {
    const found = id === undefined ? undefined : byId.get(id)
    return found ? [found] : (named[n] ?? [])
  })
  const missing = refs.filter((_, n) => candidates[n]?.length === 0)
  if (missing.length > 0) {
    const texts = missing.map(({ id, name, field }) => `${id ?? name} (${field})`)
    // To an account without such a role, Neutron shows an empty cloud.
    const advice = 'correct it, or give the account a role that may read the project, such as reader'
    throw new SyncError('SubnetNotFound', `subnet not found: ${texts.join(', ')}: ${advice}`)
  }
  return refs.map((ref, n) => {
    const [first, ...others] = candidates[n] ?? []
    if (!first || others.length > 0) throw notUnique(ref, candidates[n] ?? [])
    const same = refs.slice(0, n).find((_, before) => candidates[before]?.[0]?.id === first.id)
    if (same) throw configError([`${ref.field}: names the same subnet as ${same.field}: remove one of them`])
    const { index } = ref
    return { ...first, ...(index !== undefined && { index, alias: aliasOf(index, refs) }) }
  })
}

/** Subnets that share an index share its alias. */
function aliasOf(index: number, refs: readonly SubnetRef[]): string {
  return refs.find(ref => ref.index === index && ref.alias)?.alias ?? interfaceName(index)
}

function notUnique({ name, field }: SubnetRef, found: readonly Subnet[]): SyncError {
  const ids = found.map(subnet => subnet.id).join(', ')
  return new SyncError('SubnetNotUnique', `${found.length} subnets have the name ${name} (${ids}): correct ${field}`)
}
