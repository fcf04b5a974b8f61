/**
 * Reads the controller's own writes: the caches, plus what it wrote and the caches do not show yet. Without it, a
 * reconcile right after a write would repeat the work.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { JobObject } from '../kube/types.ts'
import { type Caches, nodeOf, type RolloutKind, rolloutKindOf } from './caches.ts'
import { hasFailedChange } from './plan/config-status.ts'
import { carryOver } from './plan/requested.ts'
import { trimConfig, trimJob } from './trim.ts'

export interface LatestState {
  config(key: string): NodeConfig | undefined
  jobsOn(node: string): JobObject[]
  /** Live Jobs that count in the rollout. */
  rolloutJobs(kind: RolloutKind): JobObject[]
  /** Configs that failed with a new spec. */
  failedChanges(): NodeConfig[]
  /** Returns the config as the cache will hold it. */
  wroteConfig(before: NodeConfig, after: NodeConfig): NodeConfig
  createdJob(job: JobObject): void
  deletedJob(key: string, uid: string): void
}

export function createLatestState({ configs, jobs }: Pick<Caches, 'configs' | 'jobs'>): LatestState {
  // All with the time of the response (performance.now): a list that was requested later shows them, or a restored backup.
  /** The newest version that we wrote, and the resource versions that are older than it. */
  const written = new Map<string, { config: NodeConfig; older: Set<string>; at: number }>()
  const created = new Map<string, { job: JobObject; at: number }>()
  /** By uid. */
  const deleted = new Map<string, { at: number }>()

  jobs.on(({ type, object }) => {
    created.delete(keyOf(object))
    if (type === 'deleted') deleted.delete(object.metadata.uid ?? '')
  })
  configs.on(({ type, object, old }) => {
    const key = keyOf(object)
    if (old) carryOver(old, object)
    const isOlder = written.get(key)?.older.has(object.metadata.resourceVersion ?? '')
    if (type === 'deleted' || !isOlder) written.delete(key)
  })
  configs.onList(requestedAt => forgetBefore(requestedAt, written))
  // A Job that was created and deleted while no watch was open never appears in an event.
  jobs.onList(requestedAt => forgetBefore(requestedAt, created, deleted))

  const withOwnWrites = (cached: JobObject[], matches: (job: JobObject) => boolean): JobObject[] =>
    [...cached, ...[...created.values()].map(({ job }) => job).filter(matches)].filter(
      job => !deleted.has(job.metadata.uid ?? ''),
    )

  return {
    config(key) {
      const cached = configs.get(key)
      const own = written.get(key)
      return cached && own?.older.has(cached.metadata.resourceVersion ?? '') ? own.config : cached
    },
    jobsOn: node => withOwnWrites(jobs.by('node', node), job => nodeOf(job) === node),
    rolloutJobs: kind => withOwnWrites(jobs.by('rollout', kind), job => rolloutKindOf(job) === kind),
    failedChanges() {
      const cached = configs.by('failed', 'yes').filter(config => !written.has(keyOf(config)))
      return [...cached, ...[...written.values()].map(({ config }) => config).filter(hasFailedChange)]
    },
    wroteConfig(before, after) {
      const key = keyOf(after)
      const older = written.get(key)?.older ?? new Set()
      older.add(before.metadata.resourceVersion ?? '')
      const config = trimConfig(after)
      carryOver(before, config)
      written.set(key, { config, older, at: performance.now() })
      return config
    },
    createdJob(job) {
      if (jobs.get(keyOf(job))?.metadata.uid !== job.metadata.uid)
        created.set(keyOf(job), { job: trimJob(job), at: performance.now() })
    },
    deletedJob(key, uid) {
      created.delete(key)
      if (jobs.get(key)?.metadata.uid === uid) deleted.set(uid, { at: performance.now() })
    },
  }
}

function forgetBefore(requestedAt: number, ...writes: Map<string, { at: number }>[]): void {
  for (const map of writes) for (const [key, { at }] of map) if (at < requestedAt) map.delete(key)
}
