/**
 * One soak: first configuration of a fleet, steady churn with short faults, wait until idle, and verdicts.
 */
import { eventually } from '../support/eventually.ts'
import { createActions, type FleetActions } from './actions.ts'
import { churnOf } from './churn.ts'
import { createFaults, kills, nameOfKill, shortFaults } from './faults.ts'
import { judgeFaults, judgeIdle, judgeRig, judgeSamples } from './limits.ts'
import { componentNames, electing, replicaNames, replicasOf, type Values, zeroWhenIdle } from './names.ts'
import { runPeriodically } from './periodic.ts'
import { startProbe } from './probe.ts'
import { createSampler } from './samples.ts'
import { groupCount, portsAtFirst, type SoakSetup, startSoakSetup } from './setup.ts'
import {
  countWarnings,
  type GrowthLimit,
  judgeSteps,
  judgeWarnings,
  type LogWarning,
  type Sample,
  undisturbedShare,
  type Verdict,
  type WarningCount,
} from './verdict.ts'

export interface SoakOptions {
  seed: number
  nodes: number
  /** Duration of the churn. */
  seconds: number
  actionsPerSecond: number
  sampleSeconds: number
  /** Polling interval of the operator after a change. */
  pollSeconds: number
  /** From one short fault to the next. */
  faultSeconds: number
  /** After this time only faults that did not run yet. */
  lastFaultSeconds: number
  /** How long components may log warnings after the end of a fault: they retry with backoff. */
  recoverySeconds: number
  /** Allowed growth of memory. */
  memory: GrowthLimit
  /** Minimum share of undisturbed time; below it the machine is too busy. */
  minUndisturbed: number
  print(line: string): void
  /** Stops the soak early. */
  signal: AbortSignal
}

export interface SoakResult {
  verdicts: Verdict[]
  samples: Sample[]
  warnings: WarningCount[]
  /** Seconds since the start of the churn, and the name. */
  faults: { at: number; name: string }[]
}

const firstConfigurationWithin = 900_000
const idleWithin = 300_000
const early = 'stopped early'

export async function soak(options: SoakOptions): Promise<SoakResult> {
  const { seed, nodes, seconds, pollSeconds, print, signal } = options
  const setup = await startSoakSetup({ seed, nodes, jobTtlSeconds: Math.ceil(seconds / 6), pollSeconds })
  const probe = startProbe(setup.biz.api)
  try {
    const actions = createActions(setup)
    const faults = createFaults(setup, options.recoverySeconds * 1_000)
    const sample = createSampler(setup)
    const warnings: LogWarning[] = []
    const collectWarnings = async () => {
      for (const name of replicaNames) warnings.push(...(await setup.replicas[name].warnings()))
    }

    print(`first configuration of ${nodes} nodes with ${portsAtFirst} ports each`)
    for (const group of setup.groups) await setup.createConfig(group, group.vms)
    const notConfigured = await waitUntilIdle(setup, actions, firstConfigurationWithin, signal)
    if (notConfigured !== undefined) return failedWith('first configuration', notConfigured)
    await collectWarnings()

    print('all nodes are configured; starting the churn')
    const startedAt = Date.now()
    const samples: Sample[] = []
    const next = churnOf(seed, { vms: nodes, groups: groupCount, portsAtFirst })
    let actionCount = 0
    const runAction = async () => {
      await actions.run(next())
      actionCount++
    }
    let lastFault = 0
    const ran: SoakResult['faults'] = []
    const runFault = async (elapsed: number) => {
      let name = await faults.kill()
      if (name === undefined && elapsed - lastFault >= options.faultSeconds)
        name = await faults.fail({ repeats: elapsed <= options.lastFaultSeconds })
      if (name === undefined) return
      lastFault = elapsed
      ran.push({ at: Math.round(elapsed), name })
      print(`${minutes(elapsed)} fault: ${name}`)
    }
    const takeSample = async (elapsed: number) => {
      const values = { ...(await sample()), actions: actionCount, 'sandbox.connect_ms': probe.slowest() }
      samples.push({ at: Math.round(elapsed), values })
      await collectWarnings()
      print(`${minutes(elapsed)} ${summaryOf(values)}`)
    }
    const tasks = [
      { everySeconds: 1 / options.actionsPerSecond, run: runAction },
      // A restarted replica has less memory at first: all kills are in the first third, unless replicas start slowly.
      { everySeconds: seconds / (3 * (kills.length + 2)), run: runFault },
      // Several samples of one moment would weigh more than others.
      { everySeconds: options.sampleSeconds, skipsMissed: true, run: takeSample },
    ]
    await runPeriodically(seconds, tasks, signal)
    if (signal.aborted) return failedWith('whole time', early)

    print(`the churn ended after ${actionCount} actions; waiting until the fleet is idle`)
    await actions.finish(signal)
    const deviation = await waitUntilIdle(setup, actions, idleWithin, signal)
    if (signal.aborted) return failedWith('whole time', early)
    const atEnd = { ...(await sample()), actions: actionCount }
    await collectWarnings()
    const faultWindows = [...faults.faultWindows, ...probe.faultWindows]
    const counts = countWarnings(warnings, faultWindows)
    return {
      samples: [...samples, { at: Math.round((Date.now() - startedAt) / 1_000), values: atEnd }],
      warnings: counts,
      faults: ran,
      verdicts: [
        ...judgeSamples(samples, options),
        ...judgeIdle(atEnd, deviation, actions.findLoss(await setup.database.vms())),
        ...electing.map(name =>
          judgeSteps(`leader stays: ${name}`, samples, `${name}.lease_transitions`, { faultWindows, startedAt }),
        ),
        judgeFaults(faults.names, [...kills.map(nameOfKill), ...shortFaults]),
        judgeWarnings(counts),
        judgeRig(undisturbedShare(faultWindows, startedAt, startedAt + seconds * 1_000), options.minUndisturbed),
      ],
    }
  } finally {
    await probe.stop()
    await setup.close()
  }
}

function failedWith(check: string, text: string): SoakResult {
  return { verdicts: [{ check, met: false, text }], samples: [], warnings: [], faults: [] }
}

/** Returns what is not idle or not as requested at the end of the time, or undefined. */
async function waitUntilIdle(
  setup: SoakSetup,
  { findDeviation, findLoss }: FleetActions,
  within: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  let problem: string | undefined
  const check = async () => {
    if (signal.aborted) return
    problem = findDeviation() ?? (await findActivity(setup)) ?? findLoss(await setup.database.vms())
    if (problem !== undefined) throw new Error(problem)
  }
  await eventually(check, { within, every: 1_000 }).catch(error => {
    problem ??= error.message
  })
  return signal.aborted ? early : problem
}

async function findActivity({ replicas }: SoakSetup): Promise<string | undefined> {
  const dead = replicaNames.find(name => !replicas[name].alive())
  if (dead) return `${dead} exited unexpectedly`
  const active = new Set<string>()
  for (const replica of replicasOf('controller')) {
    const metrics = await replicas[replica].metrics()
    for (const name of zeroWhenIdle) if (metrics.get(`multinic_${name}`)?.samples[0]?.value !== 0) active.add(name)
  }
  return active.size > 0 ? `not 0: ${[...active].join(', ')}` : undefined
}

function minutes(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, '0')}`
}

function summaryOf(values: Values): string {
  const show = (name: string) => {
    const value = values[name]
    return value === undefined ? '-' : Math.round(value)
  }
  return [
    `MiB ${componentNames
      .map(
        name =>
          `${name} ${replicasOf(name)
            .map(replica => show(`${replica}.mib`))
            .join('+')}`,
      )
      .join(', ')}`,
    `connect ${show('sandbox.connect_ms')} ms`,
    `queue ${show('controller.queue_depth')}+${show('controller.rollout_waiting')}`,
    `Jobs ${show('biz.jobs')}`,
    `database ${show('database.kib')} KiB, ${show('database.connections')} connections`,
    `ready ${show('port.ready_s')} s`,
    `actions ${show('actions')}`,
  ].join('; ')
}
