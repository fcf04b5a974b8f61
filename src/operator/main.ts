/**
 * The operator: reads its settings, creates its parts, runs until it is stopped.
 */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { Proxies } from '../http-client/client.ts'
import { connectKube } from '../kube/client.ts'
import { inClusterAccess, loadKubeconfig, tokenFromFile } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder } from '../kube/events.ts'
import { createInformer } from '../kube/informer.ts'
import { keyOf } from '../kube/keys.ts'
import { runLeaderElection } from '../kube/leader.ts'
import { createRefusedWrites } from '../kube/refused-writes.ts'
import { openStackBuses } from '../openstack/bus.ts'
import { createOpenStackClouds } from '../openstack/clouds.ts'
import { parseCloudsYaml } from '../openstack/clouds-yaml.ts'
import type { Environment } from '../runtime/env.ts'
import { createObjectMemory } from '../runtime/object-memory.ts'
import { openAccess } from '../server/access.ts'
import { connectOwnCluster } from '../server/reviews.ts'
import { listen } from '../server/server.ts'
import { measureCalls } from '../telemetry/client-metrics.ts'
import { setLeaderMetrics } from '../telemetry/leader-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openTracer } from '../telemetry/trace-export.ts'
import { createOperatorApp, type OperatorApiDeps } from './app.ts'
import { createBusSecrets } from './clouds/bus-secrets.ts'
import { cloudOpener } from './clouds/cloud-access.ts'
import type { CredentialSources } from './clouds/credentials.ts'
import { createRepeatedReads } from './clouds/repeated-reads.ts'
import { createSecretWatch, type SecretWatch } from './clouds/secret-watch.ts'
import { type ProcessSettings, processSettingsFrom } from './config.ts'
import { createPendingDeletions } from './deliver/pending-deletions.ts'
import type { OwnBus } from './events/bus-access.ts'
import { createCloudEvents } from './events/cloud-events.ts'
import { createFairShare } from './limits/fair-share.ts'
import { createLocks } from './limits/locks.ts'
import { createPlanLimit } from './limits/plan-limit.ts'
import { openPolicy } from './limits/policy.ts'
import { createOperatorMetrics } from './metrics.ts'
import { createClaims } from './observe/claims.ts'
import { createPlanner } from './observe/planner.ts'
import { createSnapshots } from './observe/snapshots.ts'
import { openRemoteInventory } from './record/inventory-client.ts'
import { createRecords, type Recorder } from './record/records.ts'
import { configWriter } from './status/config-writes.ts'
import { createOwnStatuses } from './status/own-status.ts'
import { createConfigWatch } from './sync/config-watch.ts'
import { createDeliveries } from './sync/deliveries.ts'
import { dryRun } from './sync/dry-run.ts'
import { createObjectEvents } from './sync/object-events.ts'
import { configReconciler, type ReconcileDeps } from './sync/reconcile.ts'
import { createTraces } from './sync/traces.ts'
import { createWaker } from './sync/waker.ts'
import { createDeliveredStore } from './viola/legacy/post-only-viola.ts'
import { createNodeWatch } from './viola/node-watch.ts'
import { createStatusWatch } from './viola/status-watch.ts'
import { createViolaClients } from './viola/viola-clients.ts'

export type { Recorder } from './record/records.ts'

export interface OperatorOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Stores the records of an embedded inventory. Default: the inventory of INVENTORY_URL. */
  recorder?: Recorder
  onListen?: (url: string) => void
  /** Called before `onListen`, so that another component can serve the operator's API too. */
  onApi?: (deps: OperatorApiDeps) => void
  /** Time limit of a sync, for tests. */
  maxSyncMs?: number
  /** Objects that are synced at the same time, for tests. */
  workers?: number
}

/** Runs until the signal is aborted. */
export async function runOperator(options: OperatorOptions): Promise<void> {
  const { env, log, signal, recorder, onListen, onApi, maxSyncMs, workers = 100 } = options
  const settings = processSettingsFrom(env)
  const exposition = createMetrics('operator', { process: true })
  const access = settings.KUBECONFIG ? await loadKubeconfig(settings.KUBECONFIG) : inClusterAccess(settings)
  const startCall = measureCalls(exposition)
  const kube = connectKube(access, { log, startCall })
  const now = () => new Date()
  const metrics = createOperatorMetrics(exposition, now)
  const proxies: Proxies = { http: settings.HTTP_PROXY, https: settings.HTTPS_PROXY, no: settings.NO_PROXY }
  const waker = createWaker()
  const configs = createConfigWatch(
    watchedNamespaces(settings).map(namespace =>
      createInformer(kube, openstackConfigs, { log, ...(namespace !== undefined && { namespace }) }),
    ),
  )
  const policy = await openPolicy({
    env,
    hosts: settings.ENDPOINT_ALLOWED_HOSTS ?? [],
    rulesFile: settings.NAMESPACE_RULES_FILE,
    ownNamespaces: ['multinic-system', settings.POD_NAMESPACE],
    log,
    onChange: () => configs.list().forEach(config => void waker.wake(keyOf(config))),
  })
  const clouds = createOpenStackClouds({
    contrabassCa: await optionalFile(settings.CONTRABASS_CA_FILE),
    openstackCa: await optionalFile(settings.OPENSTACK_CA_FILE),
    isAllowedHost: policy.isAllowedHost,
    isOwnNamespace: policy.isOwnNamespace,
    log,
    proxies,
    startCall,
  })
  const inventory = recorder ? undefined : await openRemoteInventory({ settings, log, proxies, startCall })
  const records = recorder ?? inventory?.recorder
  const deliveredStore = createDeliveredStore(kube, settings.POD_NAMESPACE)
  const violaClients = createViolaClients({
    ca: await optionalFile(settings.VIOLA_CA_FILE),
    clientCert: await optionalFile(settings.VIOLA_CLIENT_CERT_FILE),
    clientKey: await optionalFile(settings.VIOLA_CLIENT_KEY_FILE),
    store: deliveredStore,
    readRecords: records?.list,
    proxies,
    startCall,
  })
  const eventRecorder = createEventRecorder({ kube, component: 'multinic-operator', log })
  const memory = createObjectMemory()
  const planner = createPlanner(memory)
  const claimsOf = createClaims(policy)
  const secretWatch = createSecretWatch({
    kube,
    ownNamespace: settings.POD_NAMESPACE,
    log,
    wake: key => waker.wake(key),
  })
  const snapshots = createSnapshots(() => performance.now(), memory)
  const repeatedReads = createRepeatedReads(() => performance.now(), memory)
  const cloudEvents = createCloudEvents({
    enabled: settings.RABBITMQ_EVENTS_ENABLED,
    buses: openStackBuses,
    own: await ownBusOf(settings),
    isAllowedHost: policy.isAllowedHost,
    isOwnNamespace: policy.isOwnNamespace,
    wake: waker.wake,
    canTarget: snapshots.canTarget,
    metrics,
    log,
  })
  const nodeWatch = createNodeWatch({ wake: key => waker.wake(key), log })
  const statusWatch = createStatusWatch({ wake: waker.wakeForStatus, log })
  const tracer = openTracer(settings, {
    component: 'operator',
    log,
    count: (outcome, spans) => exposition.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const timed: ReconcileDeps['timed'] = async (stage, work) => {
    const startedAt = performance.now()
    try {
      return await work()
    } finally {
      metrics.stage(stage, (performance.now() - startedAt) / 1_000)
    }
  }
  const fairShare = createFairShare(workers, waker.wakeForStatus)
  const refused = createRefusedWrites()
  const writer = configWriter(kube, refused)
  const ownStatuses = createOwnStatuses(memory)
  const deliveries = createDeliveries({
    kube: writer,
    memory,
    find: configs.get,
    records: [
      deliveredStore.listOf,
      async providerId => ((await records?.list(providerId)) ?? []).map(({ config }) => config),
    ],
  })
  const deps: ReconcileDeps = {
    env,
    kube: writer,
    openCloud: cloudOpener(clouds),
    violaClients,
    sources: sourcesFor(secretWatch, settings),
    histories: memory.slot(),
    forget(key) {
      memory.forget(key)
      waker.takeWakes(key)
      for (const part of [secretWatch, violaClients, clouds, fairShare, metrics]) part.forget(key)
      for (const events of [cloudEvents, nodeWatch, statusWatch]) events.forget(key)
    },
    locks: createLocks(),
    records: createRecords(records, now),
    deliveries,
    pendingDeletions: createPendingDeletions(now),
    sentOnce: new Map(),
    snapshots,
    cloudEvents,
    nodeWatch,
    statusWatch,
    busSecrets: createBusSecrets(settings.RABBITMQ_SECRET_ENABLED ? kube : undefined),
    policy,
    planner,
    repeatedReads,
    ...(maxSyncMs !== undefined && { maxSyncMs }),
    objectEvents: createObjectEvents(eventRecorder, memory),
    ownStatuses,
    claims: (providerId, source) => claimsOf(configs.list(), { providerId, source, selectedVms: planner.selectedVms }),
    now,
    takeForced: configs.takeForced,
    takeWakes: waker.takeWakes,
    wakeForStatus: waker.wakeForStatus,
    fairShare,
    timed,
    traces: createTraces(tracer, timed, Date.now),
    onSynced: metrics.sync,
  }

  const apiAccess = await openAccess({
    prefix: 'OPERATOR',
    tokensFile: settings.OPERATOR_TOKENS_FILE,
    audience: settings.OPERATOR_TOKEN_AUDIENCE,
    anonymous: false,
    connect: () => connectOwnCluster(settings, startCall),
    log,
  })
  const apiDeps: OperatorApiDeps = {
    dryRun: config => dryRun(config, deps, configs, signal),
    planLimit: createPlanLimit(),
  }
  let leading: Controller | undefined
  // Without leadership or objects, nothing will be written that shows that it is no longer refused.
  const writes = () => (leading && configs.list().length > 0 ? refused.problem() : undefined)
  const missing = () => [...configs.missing(), ...[writes()].filter(problem => problem !== undefined)]
  const metricsText = () => {
    setLeaderMetrics(exposition, leading, configs.missing())
    metrics.collect()
    return exposition.text()
  }
  const app = createOperatorApp({
    ...{ ...apiDeps, access: apiAccess, log, ready: missing, isLeader: () => leading !== undefined },
    metrics: { ...exposition, text: metricsText },
  })
  onApi?.(apiDeps)
  const url = await listen(app, settings.OPERATOR_ADDR)
  log.info('listening', { url })
  onListen?.(url)
  try {
    await configs.start(signal)
    const lead = async (leaderSignal: AbortSignal) => {
      deps.records.restart()
      ownStatuses.clear()
      deps.histories.clear()
      for (const rule of policy.missingRules(configs.list()))
        log.warn('namespace without a rule: its OpenstackConfigs are not served', { add: rule })
      const controller = runController({
        name: 'openstackconfig',
        workers,
        reconcile: configReconciler(deps),
        log,
        signal: leaderSignal,
      })
      waker.attach(controller)
      leading = controller
      try {
        await configs.follow({ ...controller, wake: waker.wake })
      } finally {
        leading = undefined
        nodeWatch.close()
        statusWatch.close()
        metrics.forgetAll()
      }
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
    await eventRecorder.flush()
    await Promise.all([app.close(), clouds.close(), violaClients.close(), inventory?.close(), tracer.close()])
    await kube.close()
  }
}

function watchedNamespaces({ WATCH_NAMESPACES: named = [] }: ProcessSettings): (string | undefined)[] {
  return named.length > 0 ? named : [undefined]
}

function sourcesFor(watch: SecretWatch, settings: ProcessSettings): (user: string) => CredentialSources {
  const ownToken = settings.VIOLA_TOKEN_FILE ? tokenFromFile(settings.VIOLA_TOKEN_FILE) : undefined
  return user => ({
    async secret(namespace, name, key) {
      const value = (await watch.read(user, namespace, name))?.data?.[key]
      return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8')
    },
    ownViolaToken: async () => ownToken?.(),
    parseCloudsYaml,
  })
}

async function ownBusOf(settings: ProcessSettings): Promise<OwnBus> {
  const { RABBITMQ_PASSWORD_FILE: file, RABBITMQ_PASSWORD: password } = settings
  const fromFile = file === undefined ? undefined : tokenFromFile(file)
  return {
    user: settings.RABBITMQ_USER,
    password: async () => fromFile?.() ?? password,
    ca: await optionalFile(settings.RABBITMQ_CA_FILE),
    queue: settings.RABBITMQ_QUEUE,
  }
}

async function optionalFile(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readFile(path, 'utf8')
}
