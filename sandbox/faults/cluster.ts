/**
 * Faults of the two API servers and of the operator, Viola and the controller.
 */
import type { ClusterFaults } from '../lifecycle/clusters.ts'
import type { Supervisor } from '../lifecycle/supervisor.ts'
import type { FaultInjector } from './active-faults.ts'
import type { ClusterFaultName } from './catalogue.ts'

export interface ClusterFaultContext {
  management: ClusterFaults
  biz: ClusterFaults
  components: Supervisor
}

type ComponentName = 'operator' | 'viola' | 'controller'

export function clusterInjectors(context: ClusterFaultContext): Record<ClusterFaultName, FaultInjector> {
  const { management, biz, components } = context
  const unreachable =
    (cluster: ClusterFaults): FaultInjector =>
    async () => {
      await cluster.setUnreachable(true)
      return () => cluster.setUnreachable(false)
    }
  const signal = (name: ComponentName, what: NodeJS.Signals) => {
    const pid = components.pidOf(name)
    if (pid === undefined) throw new Error(`${name} is not running; try again when it has restarted`)
    process.kill(pid, what)
  }
  const killed =
    (name: ComponentName): FaultInjector =>
    async () => {
      signal(name, 'SIGKILL')
      return async () => {}
    }
  const frozen =
    (name: ComponentName): FaultInjector =>
    async () => {
      signal(name, 'SIGSTOP')
      return async () => {
        // If it was killed meanwhile, this signals its successor, which ignores SIGCONT.
        if (components.pidOf(name) !== undefined) signal(name, 'SIGCONT')
      }
    }
  const stopped =
    (name: ComponentName): FaultInjector =>
    async () => {
      components.suspend(name)
      return async () => components.resume(name)
    }
  return {
    'unreachable-management-api': unreachable(management),
    'unreachable-biz-api': unreachable(biz),
    conflicts: async () => {
      for (const cluster of [management, biz]) cluster.setConflicts(true)
      return async () => {
        for (const cluster of [management, biz]) cluster.setConflicts(false)
      }
    },
    'compacted-watches': async () => {
      for (const cluster of [management, biz]) cluster.compact()
      return async () => {}
    },
    'killed-operator': killed('operator'),
    'killed-viola': killed('viola'),
    'killed-controller': killed('controller'),
    'frozen-operator': frozen('operator'),
    'frozen-viola': frozen('viola'),
    'frozen-controller': frozen('controller'),
    'stopped-operator': stopped('operator'),
    'stopped-viola': stopped('viola'),
    'stopped-controller': stopped('controller'),
  }
}
