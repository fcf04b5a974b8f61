/**
 * One soak: a fleet that has come to rest, steady churn with short faults for so many minutes, rest again, and verdicts.
 */
import { eventually } from '../support/eventually.ts'
import { createDeeds } from './actions.ts'
import { churnOf } from './churn.ts'
import { createFaults } from './faults.ts'
import { judgeRest, judgeRig, judgeSamples } from './limits.ts'
import { partNames, quiet, type Values } from './names.ts'
import { startProbe } from './probe.ts'
import { inRounds } from './rounds.ts'
import { createSampler } from './samples.ts'
import { groupCount, portsAtFirst, type SoakStage, startSoakStage } from './setup.ts'
import {
  type Bound,
  type Complaint,
  type Counted,
  countComplaints,
  judgeComplaints,
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
  /** Ends it early. */
  signal: AbortSignal
}

export interface Soaked {
  verdicts: Verdict[]
  samples: Sample[]
  complaints: Counted[]
}

const settleWithin = 900_000
const restWithin = 300_000
const early = 'it was ended early'

export async function soak(options: SoakOptions): Promise<Soaked> {
  const { seed, nodes, seconds, pollSeconds, say, signal } = options
  const stage = await startSoakStage({ seed, nodes, jobTtlSeconds: Math.ceil(seconds / 6), pollSeconds })
  const probe = startProbe(stage.biz.api)
  try {
    const deeds = createDeeds(stage)
    const faults = createFaults(stage, options.echoSeconds * 1_000)
    const sample = createSampler(stage)
    const complaints: Complaint[] = []
    const listen = async () => {
      for (const name of partNames) complaints.push(...(await stage.parts[name].complaints()))
    }

    say(`${nodes} nodes with ${portsAtFirst} ports each get their first configuration`)
    for (const group of stage.groups) await stage.makeConfig(group, group.vms)
    const unsettled = await rest(stage, deeds.restless, settleWithin, signal)
    if (unsettled !== undefined) return withoutChurn('first configuration', unsettled)
    await listen()

    say('all nodes are configured; the churn begins')
    const beganAt = Date.now()
    const samples: Sample[] = []
    const next = churnOf(seed, { vms: nodes, groups: groupCount, portsAtFirst })
    let acts = 0
    const act = async () => {
      await deeds.act(next())
      acts++
    }
    const breakSomething = async (elapsed: number) => {
      if (elapsed > options.lastFaultSeconds) return
      // A part that is young has less memory, and would seem to grow.
      const name = await faults.next({ kills: elapsed < seconds / 3 })
      say(`${minutes(elapsed)} fault: ${name}`)
    }
    const look = async (elapsed: number) => {
      const values = { ...(await sample()), acts, 'sandbox.connect_ms': probe.slowest() }
      samples.push({ at: Math.round(elapsed), values })
      await listen()
      say(`${minutes(elapsed)} ${briefly(values)}`)
    }
    const rounds = [
      { everySeconds: 1 / options.actsPerSecond, work: act },
      { everySeconds: options.faultSeconds, work: breakSomething },
      { everySeconds: options.sampleSeconds, work: look },
    ]
    await inRounds(seconds, rounds, signal)
    if (signal.aborted) return withoutChurn('whole time', early)

    say(`the churn is over after ${acts} acts; the fleet comes to rest`)
    await deeds.done(signal)
    const unrest = await rest(stage, deeds.restless, restWithin, signal)
    if (signal.aborted) return withoutChurn('whole time', early)
    const atRest = { ...(await sample()), acts }
    await listen()
    const shadows = [...faults.shadows, ...probe.shadows]
    const counted = countComplaints(complaints, shadows)
    return {
      samples: [...samples, { at: Math.round((Date.now() - beganAt) / 1_000), values: atRest }],
      complaints: counted,
      verdicts: [
        ...judgeSamples(samples, options),
        ...judgeRest(atRest, unrest),
        judgeComplaints(counted),
        judgeRig(openShare(shadows, beganAt, beganAt + seconds * 1_000), options.leastOpen),
      ],
    }
  } finally {
    await probe.stop()
    await stage.close()
  }
}

function withoutChurn(check: string, words: string): Soaked {
  return { verdicts: [{ check, met: false, words }], samples: [], complaints: [] }
}

/** What still keeps it from rest after that time, or undefined. */
async function rest(
  stage: SoakStage,
  restless: () => string | undefined,
  within: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let why: string | undefined
  const look = async () => {
    if (signal.aborted) return
    why = restless() ?? (await unfinished(stage))
    if (why !== undefined) throw new Error(why)
  }
  await eventually(look, { within, every: 1_000 }).catch(error => {
    why ??= error.message
  })
  return signal.aborted ? early : why
}

async function unfinished({ parts }: SoakStage): Promise<string | undefined> {
  const dead = partNames.find(name => !parts[name].alive())
  if (dead) return `${dead} has ended by itself`
  const numbers = await parts.controller.numbers()
  const active = quiet.filter(name => numbers.get(`multinic_${name}`)?.samples[0]?.value !== 0)
  return active.length > 0 ? `not 0: ${active.join(', ')}` : undefined
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}

function briefly(values: Values): string {
  const show = (name: string) => {
    const value = values[name]
    return value === undefined ? '-' : Math.round(value)
  }
  return [
    `MiB ${partNames.map(name => `${name} ${show(`${name}.mib`)}`).join(', ')}`,
    `connect ${show('sandbox.connect_ms')} ms`,
    `queue ${show('controller.queue_depth')}+${show('controller.rollout_waiting')}`,
    `Jobs ${show('biz.jobs')}`,
    `inventory ${show('inventory.kib')} KiB`,
    `acts ${show('acts')}`,
  ].join('; ')
}
