/**
 * The faults of the two API servers and of our own parts.
 */
import type { ClusterFaults } from '../lifecycle/clusters.ts'
import type { Supervisor } from '../lifecycle/supervisor.ts'
import type { Switch } from './active-faults.ts'
import type { ClusterFault } from './catalogue.ts'

export interface ClusterPlaces {
  management: ClusterFaults
  biz: ClusterFaults
  parts: Supervisor
}

type PartName = 'operator' | 'viola' | 'controller'

const nothing = async () => {}

export function clusterSwitches({ management, biz, parts }: ClusterPlaces): Record<ClusterFault, Switch> {
  const away =
    (cluster: ClusterFaults): Switch =>
    async () => {
      await cluster.away(true)
      return () => cluster.away(false)
    }
  const signal = (name: PartName, what: NodeJS.Signals) => {
    const pid = parts.pidOf(name)
    if (pid === undefined) throw new Error(`${name} does not run at the moment`)
    process.kill(pid, what)
  }
  const killed =
    (name: PartName): Switch =>
    async () => {
      signal(name, 'SIGKILL')
      return nothing
    }
  const frozen =
    (name: PartName): Switch =>
    async () => {
      signal(name, 'SIGSTOP')
      return async () => {
        // One that was killed meanwhile was started anew and never stood still.
        if (parts.pidOf(name) !== undefined) signal(name, 'SIGCONT')
      }
    }
  const gone =
    (name: PartName): Switch =>
    async () => {
      parts.hold(name)
      return async () => parts.letGo(name)
    }
  return {
    'away-management-api': away(management),
    'away-biz-api': away(biz),
    conflicts: async () => {
      for (const cluster of [management, biz]) cluster.conflicts(true)
      return async () => {
        for (const cluster of [management, biz]) cluster.conflicts(false)
      }
    },
    'compacted-watches': async () => {
      for (const cluster of [management, biz]) cluster.compact()
      return nothing
    },
    'killed-operator': killed('operator'),
    'killed-viola': killed('viola'),
    'killed-controller': killed('controller'),
    'frozen-operator': frozen('operator'),
    'frozen-viola': frozen('viola'),
    'frozen-controller': frozen('controller'),
    'away-operator': gone('operator'),
    'away-viola': gone('viola'),
    'away-controller': gone('controller'),
  }
}
