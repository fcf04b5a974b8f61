/**
 * One soak: a fleet that has come to rest, steady churn with short faults for so many minutes, rest again, and verdicts.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../eventually.ts'
import { churnOf } from './churn.ts'
import { createDeeds } from './deeds.ts'
import { createFaults } from './faults.ts'
import { partNames } from './parts.ts'
import { startProbe } from './probe.ts'
import { createSampler, type Values } from './samples.ts'
import { groupCount, portsAtFirst, type SoakStage, startSoakStage } from './stage.ts'
import {
  type Bound,
  type Complaint,
  type Counted,
  countComplaints,
  judgeComplaints,
  judgeGrowth,
  openShare,
  type Sample,
  type Verdict,
} from './verdict.ts'

export interface SoakOptions {
  seed: number
  nodes: number
  /** Of churn. */
  seconds: number
  actsPerSecond: number
  sampleSeconds: number
  /** How often the operator looks after a change. */
  pollSeconds: number
  faultSeconds: number
  /** No fault begins after that time. */
  lastFaultSeconds: number
  /** How long parts may still tell of a fault that has ended: their next tries come later and later. */
  echoSeconds: number
  /** How much more memory the last third may have. */
  memory: Bound
  /** For which share of the time errors have to count, lest the machine be called too busy. */
  leastOpen: number
  say(line: string): void
  /** Ends it early, with what was seen until then. */
  signal: AbortSignal
}

const settleWithin = 900_000
const restWithin = 300_000
const early: Verdict = { check: 'whole time', met: false, words: 'it was ended early' }

export interface Soaked {
  verdicts: Verdict[]
  samples: Sample[]
  complaints: Counted[]
}

export async function soak(options: SoakOptions): Promise<Soaked> {
  const { seed, nodes, seconds, say, signal } = options
  const stage = await startSoakStage({
    seed,
    nodes,
    jobTtlSeconds: Math.ceil(seconds / 6),
    pollSeconds: options.pollSeconds,
  })
  const probe = startProbe(stage.biz.api)
  try {
    const deeds = createDeeds(stage)
    const faults = createFaults(stage, options.echoSeconds * 1_000)
    const complaints: Complaint[] = []
    const take = createSampler(stage)
    const listen = async () => {
      for (const name of partNames) complaints.push(...(await stage.parts[name].complaints()))
    }

    say(`${nodes} nodes with ${portsAtFirst} ports each get their first configuration`)
    for (const group of stage.groups) await stage.makeConfig(group, group.vms)
    const settled = await rests(stage, deeds.restless, settleWithin, signal)
    if (settled !== undefined)
      return { verdicts: [{ check: 'first configuration', met: false, words: settled }], samples: [], complaints: [] }
    await listen()
    say('all nodes are configured; the churn begins')

    const [began, beganAt] = [performance.now(), Date.now()]
    const elapsed = () => (performance.now() - began) / 1_000
    const over = () => signal.aborted || elapsed() >= seconds
    const next = churnOf(seed, { vms: nodes, groups: groupCount, portsAtFirst })
    const samples: Sample[] = []
    let acts = 0
    // Whatever goes wrong in one of them ends all three.
    const wrong = new AbortController()
    const every = async (period: number, work: () => Promise<void>) => {
      for (let round = 1; !over() && !wrong.signal.aborted; round++) {
        const wait = Math.max(0, Math.min(round * period, seconds) - elapsed())
        await sleep(wait * 1_000, undefined, { signal: AbortSignal.any([signal, wrong.signal]) }).catch(() => {})
        if (!over() && !wrong.signal.aborted) await work()
      }
    }
    const guarded = (work: Promise<void>) =>
      work.catch(error => {
        wrong.abort()
        // Ctrl-C reaches the parts too.
        if (!signal.aborted) throw error
      })
    await Promise.all(
      [
        every(1 / options.actsPerSecond, async () => {
          await deeds.act(next())
          acts++
        }),
        every(options.faultSeconds, async () => {
          if (elapsed() > options.lastFaultSeconds) return
          say(`${minutes(elapsed())} fault: ${await faults.next({ kills: elapsed() < seconds / 3 })}`)
        }),
        every(options.sampleSeconds, async () => {
          const sample = {
            at: Math.round(elapsed()),
            values: { ...(await take()), acts, 'sandbox.connect_ms': probe.slowest() },
          }
          samples.push(sample)
          await listen()
          say(`${minutes(sample.at)} ${briefly(sample.values)}`)
        }),
      ].map(guarded),
    )

    if (signal.aborted) return { verdicts: [early], samples, complaints: [] }
    say(`the churn is over after ${acts} acts; the fleet comes to rest`)
    await deeds.done()
    const unrest = await rests(stage, deeds.restless, restWithin, signal)
    const last = { at: Math.round(elapsed()), values: { ...(await take()), acts } }
    await listen()
    const dead = partNames.filter(name => !stage.parts[name].alive())
    const counted = countComplaints(complaints, [...faults.shadows, ...probe.shadows])
    const open = openShare([...faults.shadows, ...probe.shadows], beganAt, beganAt + seconds * 1_000)
    return {
      samples: [...samples, last],
      complaints: counted,
      verdicts: [
        ...judged(samples, nodes, options.memory),
        { check: 'queue empty at rest', ...emptied(last.values) },
        { check: 'fleet as people want it', met: unrest === undefined, words: unrest ?? `after ${acts} acts` },
        { check: 'parts alive', met: dead.length === 0, words: dead.join(', ') || 'none ended by itself' },
        judgeComplaints(counted),
        {
          check: 'rig kept up',
          met: open >= options.leastOpen,
          words: `for ${Math.round(open * 100)} % of the time nothing was broken and the rig itself answered at once${open < options.leastOpen ? ': this machine is too busy for a verdict about errors' : ''}`,
          facts: { open: Math.round(open * 100) / 100 },
        },
      ],
    }
  } finally {
    await probe.stop()
    await stage.close()
  }
}

function judged(samples: readonly Sample[], nodes: number, memory: Bound): Verdict[] {
  const queue: Bound = { share: 0.1, slack: Math.max(5, nodes / 20) }
  const objects: Bound = { share: 0.25, slack: Math.max(20, nodes / 10) }
  return [
    ...partNames.map(name => judgeGrowth(`flat memory: ${name}`, samples, `${name}.mib`, memory, 'MiB')),
    ...partNames.map(name =>
      judgeGrowth(`descriptors: ${name}`, samples, `${name}.descriptors`, { share: 0.1, slack: 25 }, 'open'),
    ),
    judgeGrowth('no growing queue: depth', samples, 'controller.queue_depth', queue, 'configs'),
    judgeGrowth('no growing queue: wait', samples, 'controller.queue_wait_ms', { share: 0.1, slack: 500 }, 'ms'),
    judgeGrowth('no growing queue: rollout', samples, 'controller.rollout_waiting', queue, 'configs'),
    judgeGrowth('no growing queue: syncs', samples, 'operator.sync_age_s', { share: 0.1, slack: 15 }, 's'),
    judgeGrowth('Jobs bounded', samples, 'biz.jobs', objects, 'Jobs'),
    judgeGrowth('Pods bounded', samples, 'biz.pods', objects, 'Pods'),
    judgeGrowth('Secrets bounded', samples, 'management.secrets', { share: 0, slack: 0 }, 'Secrets'),
    judgeGrowth('ConfigMaps bounded', samples, 'management.config_maps', { share: 0, slack: 2 }, 'ConfigMaps'),
  ]
}

const quiet = ['queue_depth', 'queue_active', 'rollout_waiting', 'rollout_stopped', 'jobs_active']

function emptied(values: Values): Pick<Verdict, 'met' | 'words'> {
  const left = quiet.filter(name => values[`controller.${name}`] !== 0)
  const words = left.map(name => `${name} is ${values[`controller.${name}`]}`).join(', ')
  return { met: left.length === 0, words: words || 'nothing waits and nothing is in work' }
}

/** What still keeps it from rest after that time, or undefined. */
async function rests(
  stage: SoakStage,
  restless: () => string | undefined,
  within: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let why: string | undefined
  const look = async () => {
    if (signal.aborted) return
    why = restless()
    if (why !== undefined) throw new Error(why)
    const numbers = await stage.parts.controller.numbers()
    const active = quiet.filter(name => numbers.get(`multinic_${name}`)?.samples[0]?.value !== 0)
    if (active.length > 0) {
      why = `not 0: ${active.join(', ')}`
      throw new Error(why)
    }
  }
  await eventually(look, { within, every: 1_000 }).catch(() => {})
  return signal.aborted ? early.words : why
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}

function briefly(values: Values): string {
  const show = (name: string) => Math.round(values[name] ?? Number.NaN)
  return [
    `MiB ${partNames.map(name => `${name} ${show(`${name}.mib`)}`).join(', ')}`,
    `connect ${show('sandbox.connect_ms')} ms`,
    `queue ${show('controller.queue_depth')}+${show('controller.rollout_waiting')}`,
    `Jobs ${show('biz.jobs')}`,
    `inventory ${show('inventory.kib')} KiB`,
    `acts ${show('acts')}`,
  ].join('; ')
}
