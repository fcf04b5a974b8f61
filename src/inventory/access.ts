/**
 * The access to the inventory: callers and rights of the cluster that it runs in.
 */
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { Environment } from '../runtime/env.ts'
import { type Access, multinicGroup, openAccess } from '../server/access.ts'
import { connectOwnCluster, type Right } from '../server/reviews.ts'
import type { StartCall } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import type { InventorySettings } from './config.ts'

/** The inventory shows the node configs of all providers. */
export const readRight: Right = { verb: 'list', group: multinicGroup, resource: 'multinicnodeconfigs' }

/** Verdicts show the objects of all namespaces, unless the query names one. */
export function verdictsRight(config: string | undefined): Right {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(config ?? '') ?? []
  const configs = { group: openstackConfigs.group, resource: openstackConfigs.plural }
  return namespace && name ? { verb: 'get', ...configs, namespace, name } : { verb: 'list', ...configs }
}

export function openInventoryAccess(
  settings: InventorySettings,
  env: Environment,
  log: Log,
  startCall?: StartCall,
): Promise<Access> {
  return openAccess({
    prefix: 'INVENTORY',
    tokensFile: settings.INVENTORY_TOKENS_FILE,
    audience: settings.INVENTORY_TOKEN_AUDIENCE,
    anonymous: settings.INVENTORY_ANONYMOUS_ACCESS,
    connect: () => connectOwnCluster(env, startCall),
    log,
  })
}
