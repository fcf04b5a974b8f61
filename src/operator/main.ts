/**
 * The operator: settings → parts → start → stop.
 */
import { readFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { type OpenstackConfig, openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import type { Environment } from '../env.ts'
import { createApp, listen } from '../http.ts'
import { connectKube } from '../kube/client.ts'
import { inClusterAccess, loadKubeconfig, tokenFromFile } from '../kube/config.ts'
import { type Controller, runController } from '../kube/controller.ts'
import { createEventRecorder } from '../kube/events.ts'
import { type Change, createInformer, type Informer } from '../kube/informer.ts'
import { keyOf } from '../kube/keys.ts'
import { runLeaderElection } from '../kube/leader.ts'
import type { Log } from '../log.ts'
import { createMetrics, type Metrics } from '../metrics.ts'
import type { Call, Proxies } from '../openstack/http.ts'
import { createBusSecrets } from './bus-secrets.ts'
import { createClouds } from './clouds.ts'
import { type ProcessSettings, processSettingsFrom } from './config.ts'
import type { CredentialSources } from './credentials.ts'
import { createDeliveredStore } from './delivered.ts'
import type { Claim } from './facts.ts'
import { createLeaving } from './leaving.ts'
import { createLocks } from './locks.ts'
import { createNotices } from './notices.ts'
import { selectorOf, serverIdOf } from './observe.ts'
import { openPolicy } from './policy.ts'
import { providerIdOf } from './provider.ts'
import { configReconciler, type ReconcileDeps } from './reconcile.ts'
import { createRecords, type Recorder } from './records.ts'
import { createSecretWatch, type SecretWatch } from './secret-watch.ts'
import type { SyncResult } from './sync.ts'
import { createViolas } from './violas.ts'

export type { Recorder } from './records.ts'

export interface OperatorOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  /** Where the inventory's records go: the embedded store, or a remote one. */
  recorder?: Recorder
}

/** Runs until the signal. */
export async function runOperator({ env, log, signal, recorder }: OperatorOptions): Promise<void> {
  const settings = processSettingsFrom(env)
  const metrics = createMetrics({ process: true })
  const access = settings.KUBECONFIG ? await loadKubeconfig(settings.KUBECONFIG) : inClusterAccess(settings)
  const kube = connectKube(access, { log })
  const now = () => new Date()
  const onCall = (call: Call) => countCall(metrics, call)
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
  const events = createEventRecorder({ kube, component: 'multinic-operator', log })
  const informers = watchedNamespaces(settings).map(namespace =>
    createInformer(kube, openstackConfigs, { log, ...(namespace !== undefined && { namespace }) }),
  )
  const forced = new Set<string>()
  let wakeKey: (key: string) => void = () => {}
  const secretWatch = createSecretWatch({ kube, log, wake: key => wakeKey(key) })
  const deps: ReconcileDeps = {
    env,
    kube,
    clouds,
    violas,
    sources: sourcesFor(secretWatch, settings),
    forget: key => secretWatch.forget(key),
    locks: createLocks(),
    records: createRecords(recorder, now),
    leaving: createLeaving(now),
    busSecrets: createBusSecrets(settings.RABBITMQ_SECRET_ENABLED ? kube : undefined),
    policy,
    notices: createNotices(events),
    claims: (providerId, source) => claimsOf(informers, providerId, source),
    now,
    takeForced: key => forced.delete(key),
    onSynced: (key, result, seconds) => countSync(metrics, key, result, seconds),
  }

  const app = createApp({ log, metrics, ready: () => notReady(informers) })
  log.info('serving health', { address: await listen(app, settings.OPERATOR_ADDR) })
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
      wakeKey = key => controller.wake(key)
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
    secretWatch.close()
    policy.close()
    await events.flush()
    await Promise.all([app.close(), clouds.close(), violas.close()])
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

/** What the other objects of the same cluster ask for: an interface that one lets go may be wanted by another. */
function claimsOf(informers: readonly Informer<OpenstackConfig>[], providerId: string, source: string): Claim[] {
  return informers
    .flatMap(informer => informer.list())
    .filter(other => keyOf(other) !== source && providerIdOf(other) === providerId && !other.metadata.deletionTimestamp)
    .map(other => ({
      source: keyOf(other),
      vmIds: other.spec.vmNames.flatMap(entry => serverIdOf(entry) ?? []),
      subnetIds: subnetIdsOf(other),
    }))
}

function subnetIdsOf({ spec }: OpenstackConfig): string[] {
  if (!spec.subnetIDs?.length && !spec.subnetID) return []
  const selector = selectorOf(spec)
  return 'ids' in selector ? selector.ids : []
}

function notReady(informers: readonly Informer<OpenstackConfig>[]): string[] {
  return informers.every(informer => informer.synced) ? [] : ['the OpenstackConfigs are not listed yet']
}

function countCall(metrics: Metrics, { service, method, status, seconds }: Call): void {
  const labels = { service, method, status }
  metrics.count('multinic_operator_calls_total', 'Calls to other services by status class.', labels)
  metrics.time('multinic_operator_call_seconds', 'Time of calls to other services.', seconds, { service, method })
}

function countSync(metrics: Metrics, config: string, result: SyncResult | undefined, seconds: number): void {
  const outcome = result && !result.error ? (result.changed > 0 ? 'changed' : 'unchanged') : 'failed'
  metrics.count('multinic_operator_syncs_total', 'Syncs by outcome.', { outcome })
  metrics.time('multinic_operator_sync_seconds', 'Time of a whole sync.', seconds)
  if (result && !result.error)
    metrics.set('multinic_operator_last_sync_timestamp_seconds', 'Time of the last good sync.', Date.now() / 1_000, {
      config,
    })
}

async function optionalFile(path: string | undefined): Promise<string | undefined> {
  return path === undefined ? undefined : readFile(path, 'utf8')
}
