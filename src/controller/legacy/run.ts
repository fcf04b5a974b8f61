/**
 * Runs the queue of MultiNicBizConfigs: a change of an entry wakes its BizConfig.
 */
import { type Controller, runController } from '../../kube/controller.ts'
import { keyOf } from '../../kube/keys.ts'
import type { Log } from '../../telemetry/log.ts'
import { type BizConfigDeps, bizConfigReconciler, statusBatchMs } from './reconcile.ts'

export function runBizConfigs(deps: BizConfigDeps & { log: Log; signal: AbortSignal }): Controller {
  const { source, log, signal } = deps
  const controller = runController({
    ...{ name: 'bizconfigs', workers: 2, log, signal, drainMs: 700 },
    reconcile: bizConfigReconciler(deps),
  })
  const stop = source.onStale(key => controller.wakeAfter(key, statusBatchMs))
  for (const biz of source.list()) controller.wake(keyOf(biz))
  void controller.stopped.then(stop)
  return controller
}
