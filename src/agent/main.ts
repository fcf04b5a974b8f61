/**
 * The agent: settings and request in, a report out. Exits 0 with every final report, whatever its verdict; any other exit
 * code only means that the Job must retry.
 */
import { canonical, parseIp } from '../contract/address.ts'
import type { AgentReport } from '../contract/agent-report.ts'
import type { Interface } from '../contract/interfaces.ts'
import type { Environment } from '../runtime/env.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { readJournal } from './apply/journal.ts'
import { recover } from './apply/recover.ts'
import type { BackendRules } from './backends/backend.ts'
import { allBackends } from './backends/backends.ts'
import { parseSettings, type Settings } from './config.ts'
import type { AgentContext } from './context.ts'
import { connectNetworkManager } from './daemons/network-manager.ts'
import { connectNetworkd } from './daemons/networkd.ts'
import { BusError } from './host/dbus.ts'
import type { Host } from './host/host.ts'
import { takeLock } from './host/lock.ts'
import { parseInput } from './input.ts'
import { missingHostPaths, observeLinks, readMachine } from './observe/observe.ts'
import type { PassResult } from './pass-result.ts'
import { hostPaths, type Paths } from './paths.ts'
import { notMounted, wrongMachine } from './plan/preflight.ts'
import { appliedReport, checkedReport, fitReport, invalidReport, refusedReport, withNotRestored } from './report.ts'
import { inspect, runPass } from './run.ts'
import { linksByMac } from './state/observed.ts'

export interface Agent {
  env: Environment
  host: Host
  log: Log
  paths?: Paths
  /** Set on SIGTERM: the agent stops waiting, and finishes changes that it has begun. */
  stop?: { requested: boolean }
}

const exitDone = 0
const exitRetry = 75
/** Milliseconds. */
const pollInterval = 200
const resolveTimeout = 3_000

type Stop = NonNullable<Agent['stop']>

export async function runAgent(agent: Agent): Promise<number> {
  const { env, host, stop = { requested: false } } = agent
  const paths = agent.paths ?? hostPaths
  const [startedAt, started] = [host.now(), host.monotonic()]
  const traceId = traceIdOf(env['TRACEPARENT'])
  const log = traceId === undefined ? agent.log : agent.log.with({ traceId })
  const finish = (report: AgentReport): number => {
    const timings = { ...report.timings, total: host.monotonic() - started, startedAt }
    const timed = { ...report, timings, ...(traceId === undefined ? {} : { traceId }) }
    log.info('report', { report: timed })
    host.writeReport(env['MULTINIC_TERMINATION_LOG'] || paths.terminationLog, fitReport(timed))
    return exitDone
  }

  const { settings, errors: invalidSettings } = parseSettings(env)
  const { request, errors: invalidInput } = parseInput(env['MULTINIC_INPUT'])
  if (!request || invalidSettings.length > 0)
    return finish(invalidReport(request, [...invalidSettings, ...invalidInput]))

  const releaseLock = await takeLock(host, paths, log, stop)
  if (!releaseLock) {
    log.warn('another agent is running on this node, exiting so that the Job retries')
    return exitRetry
  }
  try {
    return finish(
      await runLocked({ host, paths, request, settings, log: log.with({ node: request.nodeName }) }, started, stop),
    )
  } catch (error) {
    log.error('run failed, exiting so that the Job retries', { error: messageOf(error) })
    return exitRetry
  } finally {
    releaseLock()
  }
}

async function runLocked(basics: AgentContext, started: number, stop: Stop): Promise<AgentReport> {
  const { host, paths, log } = basics
  const daemons = await connectDaemons(host, paths, log)
  try {
    const settings = await resolveApiServer(basics.settings, host, log)
    return await handle({ ...basics, ...daemons, settings }, started, stop)
  } finally {
    daemons.networkManager?.close()
    daemons.networkd?.close()
  }
}

/** On a host with Netplan the bus may refuse containers (AppArmor): the agent needs it only if NetworkManager renders. */
async function connectDaemons(
  host: Host,
  paths: Paths,
  log: Log,
): Promise<Pick<AgentContext, 'networkManager' | 'networkManagerError' | 'networkd'>> {
  const exists = ({ directory }: BackendRules) => host.list(directory(paths)) !== undefined
  const mayHaveNetworkManager = allBackends.some(backend => backend.readByNetworkManager !== 'never' && exists(backend))
  try {
    const networkManager = mayHaveNetworkManager ? await connectNetworkManager(host, paths) : undefined
    return { networkManager, networkd: await connectNetworkd(host, paths, log) }
  } catch (error) {
    if (!(error instanceof BusError) || !allBackends.some(backend => backend.worksWithoutBus && exists(backend)))
      throw error
    log.warn('cannot use the system bus', { error: messageOf(error) })
    return {
      networkManagerError: `cannot use ${paths.bus}: ${messageOf(error)}; with AppArmor, set AGENT_APPARMOR_PROFILE=Unconfined`,
    }
  }
}

/** The trace ID of a W3C traceparent; all components log it. */
function traceIdOf(traceparent = ''): string | undefined {
  return /^[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}$/.exec(traceparent)?.[1]
}

async function handle(context: AgentContext, started: number, stop: Stop): Promise<AgentReport> {
  const { host, paths, request } = context
  const refusal = wrongMachine(request, readMachine(host, paths)) ?? notMounted(missingHostPaths(host, paths))
  if (refusal) return refusedReport(request, refusal)
  if (request.mode === 'check' || request.mode === 'plan') {
    const { unread } = readJournal(host, paths)
    return checkedReport(request, await inspect({ ...context, unread }), paths)
  }

  logSELinux(context)
  const recovered = await recover(context)
  const results = await runPasses({ ...context, unread: recovered.unread }, started, stop)
  const report = appliedReport(request, results, recovered.interfaces)
  return withNotRestored(report, recovered.notRestored)
}

/** Files are staged in their final directory because they get the SELinux label of the directory they are created in. */
function logSELinux({ host, log }: AgentContext): void {
  const label = host.readValue('/proc/self/attr/current')?.replace(/\0/g, '')
  // AppArmor uses the same file, in another format.
  if (label && /^[^:\s]+:[^:\s]+:[^:\s]+:/.test(label))
    log.info('SELinux enabled, files get the label of their directory', { context: label })
}

/** Configures the NICs that are present at once. NICs that appear later, within NIC_WAIT, get a pass of their own. */
async function runPasses(context: AgentContext, started: number, stop: Stop): Promise<PassResult[]> {
  const results: PassResult[] = []
  for (;;) {
    const failed = new Set(results.flatMap(result => [...result.failed.keys()]))
    const result = await runPass(context, failed)
    results.push(result)
    const until = started + context.settings.nicWait
    if (!(await waitForNic(context, result.plan.missing, until, stop))) return results
  }
}

/** The guard of the route to the API server needs an address. Without one, it refuses every NIC with a foreign route. */
async function resolveApiServer(settings: Settings, host: Host, log: Log): Promise<Settings> {
  const { apiServer } = settings
  if (apiServer === undefined || parseIp(apiServer)) return settings
  const address = await host.resolve(apiServer, resolveTimeout)
  if (address) return { ...settings, apiServer: canonical(address) ?? address }
  log.warn('cannot resolve the API server, refusing NICs that have foreign routes', { apiServer })
  return settings
}

/** Reports whether one of the missing NICs appeared in time. */
async function waitForNic(
  { host, log }: AgentContext,
  missing: readonly Interface[],
  until: number,
  stop: Stop,
): Promise<boolean> {
  if (missing.length === 0) return false
  log.info('waiting for NICs', {
    missing: missing.map(nic => nic.macAddress),
    ms: Math.max(0, until - host.monotonic()),
  })
  while (host.monotonic() < until && !stop.requested) {
    await host.sleep(Math.min(pollInterval, Math.max(1, until - host.monotonic())))
    const links = await observeLinks(host)
    if (missing.some(nic => linksByMac(links, nic.macAddress).length > 0)) return true
  }
  return false
}
