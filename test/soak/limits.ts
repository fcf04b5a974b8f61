/**
 * The checked values of a soak and their limits. Pure.
 */
import { replicaCount, replicaNames, type Values, zeroWhenIdle } from './names.ts'
import { type GrowthLimit, judgeGrowth, judgeMaximum, judgeRatio, type Sample, type Verdict } from './verdict.ts'

export interface Limits {
  nodes: number
  pollSeconds: number
  memory: GrowthLimit
}

/** Of one inventory: its pool of 8, the one that listens, and the one that maintains partitions. */
const connectionsPerInventory = 10
/** A delivery changes about one interface, which passes six stages, and the record with each report: 11 rows, or more after faults. */
const historyPerDelivery = 30

/** Checks of the samples during the churn. */
export function judgeSamples(samples: readonly Sample[], { nodes, pollSeconds, memory }: Limits): Verdict[] {
  const grows = (check: string, name: string, unit: string, limit: GrowthLimit) =>
    judgeGrowth(check, samples, name, limit, unit)
  // A tenth of the nodes may be in progress at any time.
  const queue = { share: 0.1, slack: Math.max(5, nodes / 20) }
  const objects = { share: 0.25, slack: Math.max(20, nodes / 10) }
  // Pools keep connections for a while.
  const open = { share: 0.1, slack: 25 }
  return [
    ...replicaNames.map(name => grows(`flat memory: ${name}`, `${name}.mib`, 'MiB', memory)),
    ...replicaNames.map(name => grows(`descriptors: ${name}`, `${name}.descriptors`, 'open', open)),
    grows('no growing queue: depth', 'controller.queue_depth', 'configs', queue),
    grows('no growing queue: wait', 'controller.queue_wait_ms', 'ms', { share: 0.1, slack: 1_000 }),
    grows('no growing queue: rollout', 'controller.rollout_waiting', 'configs', queue),
    grows('no growing queue: syncs', 'operator.sync_age_s', 's', { share: 0.1, slack: Math.max(15, 2 * pollSeconds) }),
    grows('Jobs bounded', 'biz.jobs', 'Jobs', objects),
    grows('Pods bounded', 'biz.pods', 'Pods', objects),
    grows('Secrets bounded', 'management.secrets', 'Secrets', { share: 0, slack: 0 }),
    grows('ConfigMaps bounded', 'management.config_maps', 'ConfigMaps', { share: 0, slack: 2 }),
    grows('database: present state bounded', 'database.current_rows', 'rows', objects),
    // PostgreSQL needs room for old rows until autovacuum, which starts once a minute.
    grows('database: tables of the present state bounded', 'database.current_kib', 'KiB', { share: 0.5, slack: 2_048 }),
    judgeRatio('database: history only of changes', samples, {
      ...{ of: 'database.history_rows', to: 'database.deliveries', limit: historyPerDelivery },
      unit: 'rows for each delivery',
    }),
    judgeMaximum('database: connections bounded', samples, 'database.connections', {
      ...{ limit: replicaCount * connectionsPerInventory, unit: 'connections' },
    }),
  ]
}

/** `lost`: what the inventory lacks or has too much. */
export function judgeIdle(values: Values, deviation: string | undefined, lost: string | undefined): Verdict[] {
  const busy = zeroWhenIdle.filter(name => values[`controller.${name}`] !== 0)
  const text = busy.map(name => `${name} is ${values[`controller.${name}`]}`).join(', ')
  return [
    { check: 'queue empty when idle', met: busy.length === 0, text: text || 'nothing waits or runs' },
    {
      check: 'fleet in the requested state',
      met: deviation === undefined,
      text:
        deviation ??
        `${values['biz.node_configs']} nodes have the ports of their VMs after ${values['actions']} actions`,
    },
    {
      check: 'nothing lost: inventory',
      met: lost === undefined,
      text: lost ?? 'the inventory has exactly the ports of every VM',
    },
  ]
}

/** A soak on a slow machine may end before every fault ran. */
export function judgeFaults(ran: readonly string[], wanted: readonly string[]): Verdict {
  const missing = wanted.filter(name => !ran.includes(name))
  return {
    check: 'every fault ran',
    met: missing.length === 0,
    text: missing.length === 0 ? `${ran.length} faults` : `missing: ${missing.join(', ')}`,
    figures: { faults: ran.length },
  }
}

/** `undisturbed`: the share of the time without fault and with a responsive rig, in which warnings count. */
export function judgeRig(undisturbed: number, minimum: number): Verdict {
  const text = `no fault and a responsive rig for ${Math.round(undisturbed * 100)} % of the time`
  const met = undisturbed >= minimum
  return {
    check: 'rig kept up',
    met,
    text: met ? text : `${text}: this machine is too busy to judge warnings`,
    figures: { undisturbed: Math.round(undisturbed * 100) / 100 },
  }
}
