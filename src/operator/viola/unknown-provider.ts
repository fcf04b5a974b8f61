/**
 * Viola has no cluster of the provider ID of an object: names the field to correct, and the clusters that the object may use.
 */
import { type OpenstackConfig, providerIdOf } from '../../contract/openstack-config.ts'
import { namespaceOf } from '../limits/namespace-rules.ts'
import type { Policy } from '../limits/policy.ts'
import { SyncError } from '../sync-error.ts'
import { ViolaError } from '../viola-error.ts'

const maxShown = 20

/** Any other error is returned as it is. */
export function withField(error: unknown, config: OpenstackConfig, { mayUseCluster }: Pick<Policy, 'mayUseCluster'>) {
  const cause = error instanceof SyncError ? error.cause : error
  if (!(cause instanceof ViolaError) || !cause.knownProviders) return error
  const usable = cause.knownProviders.filter(id => mayUseCluster(namespaceOf(config), id))
  return new SyncError('ProviderUnknown', textOf(config, usable), { cause })
}

function textOf(config: OpenstackConfig, usable: readonly string[]): string {
  const id = providerIdOf(config)
  const isNamed = !!config.spec.credentials?.k8sProviderID?.trim()
  const problem = isNamed ? `: Viola knows no cluster ${id}` : ` is not set, and Viola knows no cluster ${id}`
  const more = usable.length > maxShown ? ` and ${usable.length - maxShown} more` : ''
  const known =
    usable.length > 0
      ? `known clusters: ${usable.slice(0, maxShown).join(', ')}${more}`
      : 'it names none that this namespace may use'
  return `spec.credentials.k8sProviderID${problem}; ${known}`
}
