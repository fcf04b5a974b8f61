/**
 * The agent: settings and work in, a report out. Exits 0 with every final report, whatever its verdict; anything else
 * only means "run me again".
 */
import { canonical, parseIp } from '../contract/address.ts'
import type { AgentReport } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import type { Environment } from '../runtime/env.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { parseSettings, type Settings } from './config.ts'
import type { Host } from './host.ts'
import { parseInput } from './input.ts'
import { networkManager } from './network-manager.ts'
import { observeLinks, observeMachine, unseen } from './observe.ts'
import { linksByMac } from './observed.ts'
import { hostPaths, type Paths } from './paths.ts'
import { notMounted, wrongMachine } from './preflight.ts'
import { recover } from './recover.ts'
import { appliedReport, checkedReport, fitReport, invalidReport, refusedReport } from './report.ts'
import { type Ground, inspect, type Pass, pass } from './run.ts'

export interface Agent {
  env: Environment
  host: Host
  log: Log
  paths?: Paths
  /** Set when somebody asks us to end: waits are cut short, changes are finished. */
  stop?: { requested: boolean }
}

const exitDone = 0
const exitAgain = 75
const pollEvery = 200
const lockWait = 20_000
const resolveWithin = 3_000

type Stop = NonNullable<Agent['stop']>

export async function runAgent(agent: Agent): Promise<number> {
  const { env, host, paths = hostPaths, stop = { requested: false } } = agent
  const started = host.now()
  const traceId = traceIn(env['TRACEPARENT'])
  const log = traceId === undefined ? agent.log : agent.log.with({ traceId })
  const finish = (report: AgentReport): number => {
    const timings = { ...report.timings, total: host.now() - started, startedAt: started }
    const timed = { ...report, timings, ...(traceId === undefined ? {} : { traceId }) }
    log.info('report', { report: timed })
    host.writeReport(env['MULTINIC_TERMINATION_LOG'] || paths.terminationLog, fitReport(timed))
    return exitDone
  }

  const { settings, errors: mistakes } = parseSettings(env)
  const { work, errors } = parseInput(env['MULTINIC_INPUT'])
  if (!work || mistakes.length > 0) return finish(invalidReport(work, [...mistakes, ...errors]))

  const release = await takeLock(host, log, stop)
  if (!release) {
    log.warn('another agent works on this node; this one is to be run again')
    return exitAgain
  }
  const onNetworkManager = [paths.networkManager, paths.networkScripts].some(path => host.list(path) !== undefined)
  const manager = onNetworkManager ? await networkManager(host, paths) : undefined
  const known = await withApiServer(settings, host, log)
  const ground: Ground = { host, manager, paths, settings: known, work, log: log.with({ node: work.nodeName }) }
  try {
    return finish(await carryOut(ground, started, stop))
  } catch (error) {
    log.error('the run was cut short; it is to be run again', { error: messageOf(error) })
    return exitAgain
  } finally {
    manager?.close()
    release()
  }
}

/** The id that all parts log for one piece of work, from a W3C traceparent. */
function traceIn(text = ''): string | undefined {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(text)?.[1]
}

async function carryOut(ground: Ground, started: number, stop: Stop): Promise<AgentReport> {
  const { host, paths, work } = ground
  const wrong = wrongMachine(work.instanceId, observeMachine(host, paths)) ?? notMounted(unseen(host, paths))
  if (wrong) return refusedReport(work, wrong)
  if (work.mode === 'check' || work.mode === 'plan') return checkedReport(work, await inspect(ground))

  tellOfLabels(ground)
  const recovered = await recover(ground)
  const passes = await passUntilAllAreIn(ground, started, stop)
  return appliedReport(work, passes, recovered)
}

/** Only what is staged in its own directory gets the label that SELinux gives to files there; nothing else is needed. */
function tellOfLabels({ host, log }: Ground): void {
  const context = host.readValue('/proc/self/attr/current')?.replace(/\0/g, '')
  // AppArmor answers in the same place, in other words.
  if (context && /^[^:\s]+:[^:\s]+:[^:\s]+:/.test(context))
    log.info('SELinux is on: files get the label of their directory', { context })
}

/** NICs that are there are done at once; those that are late get a pass of their own when they appear. */
async function passUntilAllAreIn(ground: Ground, started: number, stop: Stop): Promise<Pass[]> {
  const passes: Pass[] = []
  for (;;) {
    const skip = new Set(passes.flatMap(({ failed }) => [...failed.keys()]))
    const done = await pass(ground, skip)
    passes.push(done)
    if (!(await appears(ground, done.plan.missing, started + ground.settings.nicWait, stop))) return passes
  }
}

/** The guard of the way to the API server needs an address; a name that does not resolve stays one, and closes the guard. */
async function withApiServer(settings: Settings, host: Host, log: Log): Promise<Settings> {
  const { apiServer } = settings
  if (apiServer === undefined || parseIp(apiServer)) return settings
  const address = await host.resolve(apiServer, resolveWithin)
  if (address) return { ...settings, apiServer: canonical(address) ?? address }
  log.warn('the API server has a name that does not resolve; NICs with routes of others are refused', { apiServer })
  return settings
}

async function takeLock(host: Host, log: Log, stop: Stop): Promise<(() => void) | undefined> {
  const started = host.now()
  let release = await host.lock()
  if (!release) log.info('another agent works on this node; waiting for it', { ms: lockWait })
  while (!release && host.now() < started + lockWait && !stop.requested) {
    await host.sleep(pollEvery)
    release = await host.lock()
  }
  return release
}

/** Reports whether one of the missing NICs came in time. */
async function appears(
  { host, log }: Ground,
  missing: readonly Interface[],
  until: number,
  stop: Stop,
): Promise<boolean> {
  if (missing.length === 0) return false
  log.info('waiting for NICs', { missing: missing.map(nic => nic.macAddress), ms: Math.max(0, until - host.now()) })
  while (host.now() < until && !stop.requested) {
    await host.sleep(Math.min(pollEvery, Math.max(1, until - host.now())))
    const links = await observeLinks(host)
    if (missing.some(nic => linksByMac(links, nic.macAddress).length > 0)) return true
  }
  return false
}
