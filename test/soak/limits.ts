/**
 * Which numbers of a soak are judged, and how far each may go. Pure.
 */
import { partNames, quiet, type Values } from './names.ts'
import { type Bound, judgeGrowth, type Sample, type Verdict } from './verdict.ts'

export interface Bounds {
  nodes: number
  pollSeconds: number
  memory: Bound
}

/** From the samples of the churn. */
export function judgeSamples(samples: readonly Sample[], { nodes, pollSeconds, memory }: Bounds): Verdict[] {
  const grows = (check: string, name: string, unit: string, bound: Bound) =>
    judgeGrowth(check, samples, name, bound, unit)
  // A wave of a tenth of the nodes may be under way at any time.
  const queue = { share: 0.1, slack: Math.max(5, nodes / 20) }
  const objects = { share: 0.25, slack: Math.max(20, nodes / 10) }
  // Connections are kept for a while by pools.
  const open = { share: 0.1, slack: 25 }
  return [
    ...partNames.map(name => grows(`flat memory: ${name}`, `${name}.mib`, 'MiB', memory)),
    ...partNames.map(name => grows(`descriptors: ${name}`, `${name}.descriptors`, 'open', open)),
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

export function judgeRest(values: Values, unrest: string | undefined): Verdict[] {
  const left = quiet.filter(name => values[`controller.${name}`] !== 0)
  const words = left.map(name => `${name} is ${values[`controller.${name}`]}`).join(', ')
  return [
    { check: 'queue empty at rest', met: left.length === 0, words: words || 'nothing waits and nothing is in work' },
    {
      check: 'fleet as people want it',
      met: unrest === undefined,
      words: unrest ?? `${values['biz.node_configs']} nodes have the ports of their VMs after ${values['acts']} acts`,
    },
  ]
}

/** With the share of the time in which errors counted. */
export function judgeRig(open: number, least: number): Verdict {
  const words = `for ${Math.round(open * 100)} % of the time nothing was broken and the rig itself answered at once`
  const met = open >= least
  return {
    check: 'rig kept up',
    met,
    words: met ? words : `${words}: this machine is too busy for a verdict about errors`,
    facts: { open: Math.round(open * 100) / 100 },
  }
}
