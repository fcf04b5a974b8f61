/**
 * The checked values of a soak and their limits. Pure.
 */
import { componentNames, type Values, zeroWhenIdle } from './names.ts'
import { type GrowthLimit, judgeGrowth, type Sample, type Verdict } from './verdict.ts'

export interface Limits {
  nodes: number
  pollSeconds: number
  memory: GrowthLimit
}

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
    ...componentNames.map(name => grows(`flat memory: ${name}`, `${name}.mib`, 'MiB', memory)),
    ...componentNames.map(name => grows(`descriptors: ${name}`, `${name}.descriptors`, 'open', open)),
    grows('no growing queue: depth', 'controller.queue_depth', 'configs', queue),
    grows('no growing queue: wait', 'controller.queue_wait_ms', 'ms', { share: 0.1, slack: 1_000 }),
    grows('no growing queue: rollout', 'controller.rollout_waiting', 'configs', queue),
    grows('no growing queue: syncs', 'operator.sync_age_s', 's', { share: 0.1, slack: Math.max(15, 2 * pollSeconds) }),
    grows('Jobs bounded', 'biz.jobs', 'Jobs', objects),
    grows('Pods bounded', 'biz.pods', 'Pods', objects),
    grows('Secrets bounded', 'management.secrets', 'Secrets', { share: 0, slack: 0 }),
    grows('ConfigMaps bounded', 'management.config_maps', 'ConfigMaps', { share: 0, slack: 2 }),
  ]
}

export function judgeIdle(values: Values, deviation: string | undefined): Verdict[] {
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
  ]
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
