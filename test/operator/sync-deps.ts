/**
 * What syncs of one operator need, without its reconciler and its clocks: a test calls `sync` when it wants to.
 */

import { openStackBuses } from '../../src/openstack/bus.ts'
import { createOpenStackClouds } from '../../src/openstack/clouds.ts'
import { parseCloudsYaml } from '../../src/openstack/clouds-yaml.ts'
import { createBusSecrets } from '../../src/operator/clouds/bus-secrets.ts'
import { cloudOpener } from '../../src/operator/clouds/cloud-access.ts'
import { createRepeatedReads } from '../../src/operator/clouds/repeated-reads.ts'
import { createPendingDeletions } from '../../src/operator/deliver/pending-deletions.ts'
import { createCloudEvents } from '../../src/operator/events/cloud-events.ts'
import type { Hints } from '../../src/operator/events/hints.ts'
import { createLocks } from '../../src/operator/limits/locks.ts'
import { openPolicy } from '../../src/operator/limits/policy.ts'
import type { Scope } from '../../src/operator/observe/inspection.ts'
import { createPlanner } from '../../src/operator/observe/planner.ts'
import { createSnapshots, type Snapshot } from '../../src/operator/observe/snapshots.ts'
import { createRecords } from '../../src/operator/record/records.ts'
import { createDeliveries } from '../../src/operator/sync/deliveries.ts'
import type { SyncDeps } from '../../src/operator/sync/sync.ts'
import { createNodeWatch } from '../../src/operator/viola/node-watch.ts'
import { createStatusWatch } from '../../src/operator/viola/status-watch.ts'
import { createViolaClients } from '../../src/operator/viola/viola-clients.ts'
import { createObjectMemory, type ObjectMemory } from '../../src/runtime/object-memory.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { OperatorEnvironment } from './environment.ts'

/** As the reconciler chooses it: the ports that notifications name, if there is a snapshot, else everything. */
export function scopeOf({ changed }: Hints, snapshot?: Snapshot): Scope {
  return changed && snapshot ? { reads: 'ports', changed, snapshot } : { reads: 'everything' }
}

export interface SyncParts {
  deps: SyncDeps
  /** As the operator forgets an object that was deleted. */
  forget(key: string): void
  close(): Promise<void>
}

export interface Clocks {
  /** Monotonic milliseconds. */
  now: () => number
  date?: () => Date
  memory?: ObjectMemory
}

export async function openSyncDeps(
  { cloudState, cloud, violaUrl, caller, kube }: OperatorEnvironment,
  { now, date = () => new Date(), memory = createObjectMemory() }: Clocks,
): Promise<SyncParts> {
  const clouds = createOpenStackClouds({ now })
  const violaClients = createViolaClients({
    store: { list: async () => [], put: async () => {}, remove: async () => {} },
  })
  const env = { CONTRABASS_ENDPOINT: cloud.urls.contrabass, VIOLA_ENDPOINT: violaUrl }
  const snapshots = createSnapshots(now, memory)
  const deps: SyncDeps = {
    policy: await openPolicy({ env, hosts: [], ownNamespaces: ['multinic-system'], log: silent }),
    sources: () => ({
      secret: async () => cloudState.provider.encryptKey,
      ownViolaToken: async () => caller.token,
      parseCloudsYaml,
    }),
    openCloud: cloudOpener(clouds),
    violaClients,
    planner: createPlanner(memory),
    repeatedReads: createRepeatedReads(now, memory),
    claims: () => [],
    timed: (_, work) => work(),
    now: date,
    locks: createLocks(),
    records: createRecords(undefined, date),
    deliveries: createDeliveries({ kube, find: () => undefined, records: [], memory }),
    pendingDeletions: createPendingDeletions(date),
    sentOnce: new Map(),
    snapshots,
    busSecrets: createBusSecrets(undefined),
    cloudEvents: createCloudEvents({
      enabled: false,
      buses: openStackBuses,
      own: { password: async () => undefined },
      isAllowedHost: () => true,
      wake: () => {},
      canTarget: snapshots.canTarget,
      metrics: { notification() {}, bus() {} },
      log: silent,
    }),
    nodeWatch: createNodeWatch({ wake: () => {}, log: silent }),
    statusWatch: createStatusWatch({ wake: () => {}, log: silent }),
  }
  return {
    deps,
    forget(key) {
      memory.forget(key)
      for (const part of [violaClients, clouds, deps.cloudEvents, deps.nodeWatch, deps.statusWatch]) part.forget(key)
    },
    async close() {
      deps.statusWatch.close()
      await Promise.all([clouds.close(), violaClients.close()])
    },
  }
}
