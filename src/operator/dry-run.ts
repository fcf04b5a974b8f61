/**
 * Plans a posted OpenstackConfig without changing anything.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { ConfigWatch } from './config-watch.ts'
import { noHints } from './events/cloud-events.ts'
import { createPlanner, type Inspection, inspect } from './inspect.ts'
import type { ReconcileDeps } from './reconcile.ts'

/** An existing object keeps its creation time and its status. A new one is created now. */
export async function dryRun(
  posted: OpenstackConfig,
  deps: ReconcileDeps,
  configs: ConfigWatch,
  signal: AbortSignal,
): Promise<Inspection> {
  const key = keyOf(posted)
  const existing = configs.get(key)
  const creationTimestamp = existing?.metadata.creationTimestamp ?? deps.now().toISOString()
  const { status: _, ...requested } = posted
  const config = {
    ...requested,
    metadata: { ...posted.metadata, creationTimestamp },
    ...(existing?.status && { status: existing.status }),
  }
  try {
    return await inspect(config, { ...deps, planner: createPlanner() }, { signal, fresh: false, hints: noHints })
  } finally {
    if (!existing) deps.forget(key)
  }
}
