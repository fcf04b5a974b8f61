/**
 * Plans a posted OpenstackConfig without changing anything.
 */
import { randomUUID } from 'node:crypto'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import { noHints } from '../events/hints.ts'
import { inspect } from '../observe/inspect.ts'
import type { Inspection } from '../observe/inspection.ts'
import { createPlanner } from '../observe/planner.ts'
import type { ConfigWatch } from './config-watch.ts'
import type { ReconcileDeps } from './reconcile.ts'
import { withTimeLimit } from './sync.ts'

/** An existing object keeps its creation time and its status. A new one is created now. */
export async function dryRun(
  posted: OpenstackConfig,
  deps: ReconcileDeps,
  configs: ConfigWatch,
  signal: AbortSignal,
): Promise<Inspection> {
  const existing = configs.get(keyOf(posted))
  const creationTimestamp = existing?.metadata.creationTimestamp ?? deps.now().toISOString()
  const { status: _, ...requested } = posted
  const config = {
    ...requested,
    metadata: { ...posted.metadata, creationTimestamp },
    ...(existing?.status && { status: existing.status }),
  }
  // The object itself keeps its cloud, its client of Viola and its Secrets.
  const user = `dry run ${randomUUID()}`
  const limited = withTimeLimit(signal, deps.maxSyncMs)
  const context = { signal: limited, scope: { reads: 'everything' }, hints: noHints, user } as const
  try {
    return await inspect(config, { ...deps, planner: createPlanner() }, context)
  } finally {
    deps.forget(user)
  }
}
