/**
 * The operator: settings → parts → start → stop.
 */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { type OpenstackConfig, openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import { type Call, createHttp, type Proxies } from '../http-client/client.ts'
import { connectKube } from '../kube/client.ts'
import { inClusterAccess, loadKubeconfig, tokenFromFile } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder } from '../kube/events.ts'
import { type Change, createInformer, type Informer } from '../kube/informer.ts'
import { keyOf } from '../kube/keys.ts'
import { runLeaderElection } from '../kube/leader.ts'
import { createClouds } from '../openstack/cloud.ts'
import type { Environment } from '../runtime/env.ts'
import { listen } from '../server/server.ts'
import { openTokens } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openTracer } from '../telemetry/trace-export.ts'
import { type Answering, createOperatorApp } from './app.ts'
import { createBusSecrets } from './bus-secrets.ts'
import { claimsOf } from './claims.ts'
import { type ProcessSettings, processSettingsFrom } from './config.ts'
import type { CredentialSources } from './credentials.ts'
import type { OwnBus } from './events/bus-access.ts'
import { createCloudEvents, noHints } from './events/cloud-events.ts'
import { createTurns } from './fair-share.ts'
import { createPlans, type Look, look } from './inspect.ts'
import { createInventoryClient } from './inventory-client.ts'
import { createDeliveredStore } from './legacy/delivered-store.ts'
import { createLocks } from './locks.ts'
import { createCounts } from './metrics.ts'
import { createNotices } from './object-events.ts'
import { createLeaving } from './pending-deletions.ts'
import { openPolicy } from './policy.ts'
import { providerIdOf } from './provider.ts'
import { configReconciler, type ReconcileDeps } from './reconcile.ts'
import { createRecords, type Recorder } from './records.ts'
import { createSecretWatch, type SecretWatch } from './secret-watch.ts'
import { createTraces } from './traces.ts'
import type { Verdict } from './verdicts.ts'
import { createViolas } from './viola-clients.ts'

export type { Recorder } from './records.ts'

export interface OperatorOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Where the inventory's records go: the embedded store, or a remote one. */
  recorder?: Recorder
  onListen?: (url: string) => void
  /** Told what the API answers from, so that it can stand on another part's address too. */
  onAnswering?: (answering: Answering) => void
}

/** Runs until the signal. */
export async function runOperator(options: OperatorOptions): Promise<void> {
  const { env, log, signal, recorder, onListen, onAnswering } = options
  const settings = processSettingsFrom(env)
  const metrics = createMetrics('operator', { process: true })
  const access = settings.KUBECONFIG ? await loadKubeconfig(settings.KUBECONFIG) : inClusterAccess(settings)
  const kube = connectKube(access, { log })
  const now = () => new Date()
  const counts = createCounts(metrics, now)
  const onCall = (call: Call) => counts.call(call)
  const proxies: Proxies = { http: settings.HTTP_PROXY, https: settings.HTTPS_PROXY, no: settings.NO_PROXY }
  const policy = await openPolicy(settings.ENDPOINT_ALLOWED_HOSTS, settings.NAMESPACE_RULES_FILE, log)
  const clouds = createClouds({
    contrabassCa: await optionalFile(settings.CONTRABASS_CA_FILE),
    openstackCa: await optionalFile(settings.OPENSTACK_CA_FILE),
    mayVisit: policy.mayVisit,
    proxies,
    onCall,
  })
  const violas = createViolas({
    ca: await optionalFile(settings.VIOLA_CA_FILE),
    clientCert: await optionalFile(settings.VIOLA_CLIENT_CERT_FILE),
    clientKey: await optionalFile(settings.VIOLA_CLIENT_KEY_FILE),
    store: createDeliveredStore(kube, settings.POD_NAMESPACE),
    proxies,
    onCall,
  })
  const inventory = recorder ? undefined : await remoteInventory(settings, proxies, onCall)
  const events = createEventRecorder({ kube, component: 'multinic-operator', log })
  const informers = watchedNamespaces(settings).map(namespace =>
    createInformer(kube, openstackConfigs, { log, ...(namespace !== undefined && { namespace }) }),
  )
  const forced = new Set<string>()
  const plans = createPlans()
  const verdicts = new Map<string, readonly Verdict[]>()
  let wakeKey: Controller['wake'] = () => {}
  const secretWatch = createSecretWatch({ kube, log, wake: key => wakeKey(key) })
  const cloudEvents = createCloudEvents({
    enabled: settings.RABBITMQ_EVENTS_ENABLED,
    own: await ownBusOf(settings),
    mayVisit: policy.mayVisit,
    wake: (key, priority) => wakeKey(key, priority),
    counts,
    log,
  })
  const tracer = openTracer(settings, {
    component: 'operator',
    log,
    count: (outcome, spans) => metrics.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const timed: ReconcileDeps['timed'] = async (stage, work) => {
    const started = performance.now()
    try {
      return await work()
    } finally {
      counts.stage(stage, (performance.now() - started) / 1_000)
    }
  }
  const deps: ReconcileDeps = {
    env,
    kube,
    clouds,
    violas,
    sources: sourcesFor(secretWatch, settings),
    forget(key) {
      secretWatch.forget(key)
      verdicts.delete(key)
      plans.forget(key)
      cloudEvents.forget(key)
      counts.forget(key)
    },
    locks: createLocks(),
    records: createRecords(recorder ?? inventory?.recorder, now),
    leaving: createLeaving(now),
    cloudEvents,
    busSecrets: createBusSecrets(settings.RABBITMQ_SECRET_ENABLED ? kube : undefined),
    policy,
    plans,
    notices: createNotices(events),
    claims: (providerId, source) =>
      claimsOf(
        informers.flatMap(informer => informer.list()),
        providerId,
        source,
      ),
    now,
    takeForced: key => forced.delete(key),
    turns: createTurns(settings.OPERATOR_WORKERS, key => wakeKey(key)),
    timed,
    traces: createTraces(tracer, timed, Date.now),
  }

  deps.onSynced = (key, result, seconds) => {
    if (result) verdicts.set(key, result.findings.verdicts)
    counts.sync(key, result, seconds)
  }
  const tokensFile = settings.OPERATOR_TOKENS_FILE ?? settings.INVENTORY_TOKENS_FILE
  const tokens = tokensFile === undefined ? undefined : await openTokens(tokensFile, log)
  const answering: Answering = {
    tokens,
    verdicts: () => verdicts,
    providerOf: key => informers.flatMap(informer => informer.get(key) ?? []).map(providerIdOf)[0],
    dryRun: config => dryRun(config, deps, informers, signal),
  }
  const app = createOperatorApp({ ...answering, log, metrics, ready: () => notReady(informers) })
  onAnswering?.(answering)
  const url = await listen(app, settings.OPERATOR_ADDR)
  log.info('listening', { url })
  onListen?.(url)
  try {
    await Promise.all(informers.map(informer => informer.start(signal)))
    const lead = (leading: AbortSignal) => {
      const controller = runController({
        name: 'openstackconfig',
        workers: settings.OPERATOR_WORKERS,
        reconcile: configReconciler(deps),
        log,
        signal: leading,
      })
      wakeKey = controller.wake
      return follow(informers, controller, forced)
    }
    if (settings.LEADER_ELECT)
      await runLeaderElection({
        kube,
        namespace: settings.POD_NAMESPACE,
        name: 'multinic-operator',
        identity: `${settings.POD_NAME ?? hostname()}-${process.pid}`,
        log,
        signal,
        onLeading: lead,
      })
    else await lead(signal)
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    await cloudEvents.close()
    secretWatch.close()
    policy.close()
    tokens?.close()
    await events.flush()
    await Promise.all([app.close(), clouds.close(), violas.close(), inventory?.close(), tracer.close()])
    await kube.close()
  }
}

/** Wakes the controller for every object that changes, until it has stopped. */
async function follow(
  informers: readonly Informer<OpenstackConfig>[],
  controller: Controller,
  forced: Set<string>,
): Promise<void> {
  const stops = informers.map(informer => informer.on(change => wake(controller, forced, change)))
  await controller.stopped
  for (const stop of stops) stop()
}

/** Our own status writes wake nobody: only a new spec, annotation or deletion does. */
function wake(controller: Controller, forced: Set<string>, { type, object, old }: Change<OpenstackConfig>): void {
  const key = keyOf(object)
  if (type === 'updated' && old && !differs(old, object)) return
  const { forceReconcile } = openstackConfigAnnotations
  const word = object.metadata.annotations?.[forceReconcile]
  if (old && word !== undefined && word !== old.metadata.annotations?.[forceReconcile]) forced.add(key)
  controller.wake(key)
}

function differs(old: OpenstackConfig, now: OpenstackConfig): boolean {
  const marks = ({ metadata }: OpenstackConfig) =>
    JSON.stringify([metadata.uid, metadata.generation, metadata.deletionTimestamp, metadata.annotations])
  return marks(old) !== marks(now)
}

function watchedNamespaces({ WATCH_NAMESPACES: named }: ProcessSettings): (string | undefined)[] {
  return named.length > 0 ? named : [undefined]
}

const inventoryTimeoutMs = 30_000

interface RemoteInventory {
  recorder: Recorder
  close(): Promise<void>
}

async function remoteInventory(
  { INVENTORY_URL: url, INVENTORY_TOKEN_FILE: file, INVENTORY_CA_FILE: caFile }: ProcessSettings,
  proxies: Proxies,
  onCall: (call: Call) => void,
): Promise<RemoteInventory | undefined> {
  if (url === undefined) return undefined
  const ca = await optionalFile(caFile)
  const http = createHttp({ service: 'inventory', timeoutMs: inventoryTimeoutMs, tls: { ca }, proxies, onCall })
  const token = file === undefined ? undefined : tokenFromFile(file)
  return { recorder: createInventoryClient({ http, url, token }), close: () => http.close() }
}

function sourcesFor(watch: SecretWatch, settings: ProcessSettings): (user: string) => CredentialSources {
  const ownToken = settings.VIOLA_TOKEN_FILE ? tokenFromFile(settings.VIOLA_TOKEN_FILE) : undefined
  return user => ({
    async secret(namespace, name, key) {
      const value = (await watch.read(user, namespace, name))?.data?.[key]
      return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
    },
    ownViolaToken: async () => ownToken?.(),
  })
}

/** An object that exists keeps its own age and what it let go; one that does not is as old as this moment. */
async function dryRun(
  config: OpenstackConfig,
  deps: ReconcileDeps,
  informers: readonly Informer<OpenstackConfig>[],
  signal: AbortSignal,
): Promise<Look> {
  const key = keyOf(config)
  const known = informers.map(informer => informer.get(key)).find(found => found !== undefined)
  const creationTimestamp = known?.metadata.creationTimestamp ?? deps.now().toISOString()
  const { status: _, ...asked } = config
  const object = {
    ...asked,
    metadata: { ...config.metadata, creationTimestamp },
    ...(known?.status && { status: known.status }),
  }
  try {
    return await look(object, { ...deps, plans: createPlans() }, { signal, fresh: false, hints: noHints })
  } finally {
    if (!known) deps.forget(key)
  }
}

async function ownBusOf(settings: ProcessSettings): Promise<OwnBus> {
  const { RABBITMQ_PASSWORD_FILE: file, RABBITMQ_PASSWORD: password } = settings
  const inFile = file === undefined ? undefined : tokenFromFile(file)
  return {
    user: settings.RABBITMQ_USER,
    password: async () => inFile?.() ?? password,
    ca: await optionalFile(settings.RABBITMQ_CA_FILE),
    queue: settings.RABBITMQ_QUEUE,
  }
}

function notReady(informers: readonly Informer<OpenstackConfig>[]): string[] {
  return informers.every(informer => informer.synced) ? [] : ['the OpenstackConfigs are not listed yet']
}

async function optionalFile(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readFile(path, 'utf8')
}
