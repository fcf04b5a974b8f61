/**
 * The watched OpenstackConfigs: wakes the controller for every object that changes.
 */
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigFinalizer,
} from '../../contract/openstack-config.ts'
import type { Controller } from '../../kube/controller.ts'
import type { Change, Informer } from '../../kube/informer.ts'
import { keyOf } from '../../kube/keys.ts'

export interface ConfigWatch {
  start(signal: AbortSignal): Promise<void>
  get(key: string): OpenstackConfig | undefined
  list(): OpenstackConfig[]
  /** Wakes the controller until it stops. */
  follow(controller: Controller): Promise<void>
  /** Whether a person requested a fresh read since the last call. */
  takeForced(key: string): boolean
  /** What is missing before the operator is ready. */
  missing(): string[]
}

export function createConfigWatch(informers: readonly Informer<OpenstackConfig>[]): ConfigWatch {
  const forced = new Set<string>()

  function wake(controller: Controller, { type, object, old }: Change<OpenstackConfig>): void {
    // The informer found that the API server was restored. What was read since then may not fit the objects any more.
    const isRestored = type === 'updated' && old === object
    if (type === 'updated' && old && !isRestored && !isRelevantChange(old, object)) return
    const key = keyOf(object)
    if (isRestored) forced.add(key)
    const { forceReconcile } = openstackConfigAnnotations
    const value = object.metadata.annotations?.[forceReconcile]
    if (old && value !== undefined && value !== old.metadata.annotations?.[forceReconcile]) forced.add(key)
    controller.wake(key)
  }

  return {
    async start(signal) {
      await Promise.all(informers.map(informer => informer.start(signal)))
    },
    get: key => informers.map(informer => informer.get(key)).find(found => found !== undefined),
    list: () => informers.flatMap(informer => informer.list()),
    async follow(controller) {
      const stops = informers.map(informer => informer.on(change => wake(controller, change)))
      await controller.stopped
      for (const stop of stops) stop()
    },
    takeForced: key => forced.delete(key),
    missing: () => {
      const problems = informers.flatMap(informer => informer.problem() ?? [])
      return [...new Set(problems)].map(problem => `the OpenstackConfigs are ${problem}`)
    },
  }
}

/** The operator's own status writes are not relevant: only the spec, annotations, deletion and a lost finalizer are. */
function isRelevantChange(old: OpenstackConfig, now: OpenstackConfig): boolean {
  if (hasFinalizer(old) && !hasFinalizer(now)) return true
  const compared = ({ metadata }: OpenstackConfig) =>
    JSON.stringify([metadata.uid, metadata.generation, metadata.deletionTimestamp, metadata.annotations])
  return compared(old) !== compared(now)
}

function hasFinalizer({ metadata }: OpenstackConfig): boolean {
  return metadata.finalizers?.includes(openstackConfigFinalizer) ?? false
}
