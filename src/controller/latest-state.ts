/**
 * What we wrote and the caches do not show yet. Without it a second look right after a write would do the work again.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { JobObject } from '../kube/types.ts'
import { type Caches, countedAs, nodeOf } from './caches.ts'
import { hasFailedChange, keepWork } from './plan/work.ts'
import { keptConfig, keptJob } from './trim.ts'

export interface Memory {
  config(key: string): NodeConfig | undefined
  jobsOn(node: string): JobObject[]
  /** Live Jobs that count in a rollout. */
  counted(as: 'change' | 'check'): JobObject[]
  /** How many nodes failed with a new spec. */
  failedChanges(): number
  /** Returns the config as it is kept. */
  wroteConfig(before: NodeConfig, after: NodeConfig): NodeConfig
  createdJob(job: JobObject): void
  deletedJob(key: string, uid: string): void
}

export function createMemory({ configs, jobs }: Pick<Caches, 'configs' | 'jobs'>): Memory {
  /** The newest state by our own writes, and the versions that are known to be older. */
  const written = new Map<string, { config: NodeConfig; older: Set<string> }>()
  const created = new Map<string, JobObject>()
  const deleted = new Set<string>()

  jobs.on(({ type, object }) => {
    created.delete(keyOf(object))
    if (type === 'deleted') deleted.delete(object.metadata.uid ?? '')
  })
  configs.on(({ object, old }) => {
    const key = keyOf(object)
    if (old) keepWork(old, object)
    if (!written.get(key)?.older.has(object.metadata.resourceVersion ?? '')) written.delete(key)
  })

  const withOwn = (shown: JobObject[], fits: (job: JobObject) => boolean): JobObject[] =>
    [...shown, ...[...created.values()].filter(fits)].filter(job => !deleted.has(job.metadata.uid ?? ''))

  return {
    config(key) {
      const shown = configs.get(key)
      const own = written.get(key)
      return shown && own?.older.has(shown.metadata.resourceVersion ?? '') ? own.config : shown
    },
    jobsOn: node => withOwn(jobs.by('node', node), job => nodeOf(job) === node),
    counted: as => withOwn(jobs.by('counted', as), job => countedAs(job).includes(as)),
    failedChanges() {
      const shown = configs.by('failed', 'yes').filter(config => !written.has(keyOf(config)))
      return shown.length + [...written.values()].filter(({ config }) => hasFailedChange(config)).length
    },
    wroteConfig(before, after) {
      const key = keyOf(after)
      const older = written.get(key)?.older ?? new Set()
      older.add(before.metadata.resourceVersion ?? '')
      const config = keptConfig(after)
      keepWork(before, config)
      written.set(key, { config, older })
      return config
    },
    createdJob(job) {
      if (jobs.get(keyOf(job))?.metadata.uid !== job.metadata.uid) created.set(keyOf(job), keptJob(job))
    },
    deletedJob(key, uid) {
      created.delete(key)
      if (jobs.get(key)?.metadata.uid === uid) deleted.add(uid)
    },
  }
}
