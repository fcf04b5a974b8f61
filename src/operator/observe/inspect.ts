/**
 * Observes the cloud and the cluster for one OpenstackConfig and plans, without changing anything: the first half of a sync,
 * and all of a dry run.
 */
import { type OpenstackConfig, openstackConfigAnnotations, providerIdOf } from '../../contract/openstack-config.ts'
import { keyOf } from '../../kube/keys.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Cloud, Port } from '../cloud.ts'
import { type CredentialSources, type Credentials, credentialsFor } from '../clouds/credentials.ts'
import type { DoubtfulPort, RepeatedReads } from '../clouds/repeated-reads.ts'
import type { SyncSettings } from '../config.ts'
import type { Hints } from '../events/hints.ts'
import type { Policy } from '../limits/policy.ts'
import { concernedNodes } from '../plan/concerned-nodes.ts'
import { type Claim, type DeliveredNode, identityOf, type Observed } from '../plan/observed-state.ts'
import { type Plan, planNodes } from '../plan/plan.ts'
import { addressesIn, placesOf } from '../plan/verdicts.ts'
import { SyncError, stage } from '../sync-error.ts'
import { withField } from '../viola/unknown-provider.ts'
import type { ClusterNodes, DeliveredNodes, ListAge, ViolaClient } from '../viola/viola-client.ts'
import type { ViolaClients } from '../viola/viola-clients.ts'
import { type Inspection, type Scope, widened } from './inspection.ts'
import { type CloudState, checkDeletedVms, checkMissingPorts, logIn, observeCloud, rulesOf } from './observe.ts'
import type { Planner } from './planner.ts'
import { isRemoving, isUsable, withChangedPorts } from './snapshots.ts'

export interface InspectDeps {
  openCloud: (user: string, config: OpenstackConfig, settings: SyncSettings, credentials: Credentials) => Cloud
  violaClients: ViolaClients
  /** The credentials that one object may use. */
  sources: (user: string) => CredentialSources
  policy: Policy
  planner: Planner
  repeatedReads: RepeatedReads
  now: () => Date
  /** The other OpenstackConfigs of a cluster. */
  claims: (providerId: string, source: string) => Claim[]
  /** Runs one stage of a sync and measures it. */
  timed: <T>(stage: SyncStage, work: () => Promise<T>) => Promise<T>
}

export type SyncStage = 'cloud' | 'held' | 'plan' | 'answers' | 'deliver' | 'record' | 'status'

export interface InspectContext {
  signal: AbortSignal
  scope: Scope
  hints: Hints
  /** Who uses the cloud, the client of Viola and the Secrets until it is forgotten. Default: the object. */
  user?: string
}

/** Observes what the scope names, and plans. Reads everything if the plan of a narrower scope would remove an interface. */
export async function inspect(
  config: OpenstackConfig,
  deps: InspectDeps,
  context: InspectContext,
): Promise<Inspection> {
  const opened = await open(config, deps, context)
  for (let scope = usableScope(config, opened, context.scope); ; scope = widened(scope)) {
    const inspection = await observe(config, deps, { ...context, scope }, opened)
    if (inspection && !(scope.reads === 'ports' && isRemoving(inspection))) return inspection
  }
}

type Opened = Pick<Inspection, 'settings' | 'providerId' | 'cloud' | 'viola' | 'sharesBus'>

/** The settings, and the clients of the services that they name. */
async function open(
  config: OpenstackConfig,
  deps: InspectDeps,
  { scope, hints, user = keyOf(config) }: InspectContext,
): Promise<Opened> {
  const settings = deps.policy.admit(config)
  const credentials = await credentialsFor(config, settings, deps.sources(user))
  const cloud = deps.openCloud(user, config, settings, credentials)
  if (scope.reads === 'everything' && scope.fresh) cloud.refresh()
  else cloud.invalidate(hints)
  const providerId = providerIdOf(config)
  const viola = deps.violaClients.open({ user, settings, credentials, providerId })
  const sharesBus = !credentials.usesOwnKey || deps.policy.isOwnNamespace(config.metadata.namespace ?? '')
  return { settings, providerId, cloud, viola, sharesBus }
}

/** What was read with another account is not used. */
function usableScope(config: OpenstackConfig, opened: Opened, scope: Scope): Scope {
  const isUseless =
    (scope.reads === 'ports' && !isUsable(scope.snapshot, config, opened)) ||
    (scope.reads === 'cluster' && scope.last.cloud !== opened.cloud)
  return isUseless ? widened(scope) : scope
}

/** Undefined if the scope names nothing that is known. */
async function observe(
  config: OpenstackConfig,
  deps: InspectDeps,
  context: InspectContext,
  opened: Opened,
): Promise<Inspection | undefined> {
  const { signal, scope } = context
  const { settings, cloud, viola } = opened
  const list = () =>
    listDelivered(viola, signal, shorter(scope.listAge ?? {}, settings.pollSlowMs)).catch(async error => {
      throw await withCloudCheck(withField(error, config, deps.policy), cloud, signal)
    })
  if (scope.reads === 'cluster') return observeCluster(config, deps, opened, scope.last, await deps.timed('held', list))
  if (scope.reads === 'ports') {
    const { snapshot, changed } = scope
    const known = await deps.timed('cloud', () => withChangedPorts(snapshot, changed, signal))
    const nodes = { nodes: snapshot.cluster, reported: true }
    const reads = known && { cloud: known, delivered: async () => nodes }
    return reads && { ...(await observeAll(config, deps, context, opened, reads)), reads: 'ports', isTargeted: true }
  }
  const before = { observed: deps.planner.lastObserved(keyOf(config)), startedAt: deps.repeatedReads.now() }
  const inspection = await observeAll(config, deps, context, opened, { cloud, delivered: list })
  return withChecks(inspection, deps, { ...context, user: context.user ?? keyOf(config), before })
}

/** Between other objects: of thousands of VMs, one plan is a long piece of work. */
function planned(config: OpenstackConfig, deps: InspectDeps, observed: Observed): Promise<Plan> {
  return deps.timed('plan', async () => {
    await giveWay()
    return deps.planner.plan(keyOf(config), observed)
  })
}

interface Reads {
  cloud: Cloud
  delivered: () => Promise<DeliveredNodes>
}

/** Plans with what an earlier inspection found in the cloud, and with the nodes as they are now. */
async function observeCluster(
  config: OpenstackConfig,
  deps: InspectDeps,
  opened: Opened,
  earlier: Inspection,
  { nodes, reported }: DeliveredNodes,
): Promise<Inspection> {
  const { ports, portChecks, deletedVms, nodesVersion } = earlier.observed
  const observed = withDelivered(nodes, {
    ...observedFrom(config, deps, opened, earlier.cloudState),
    ...{ ports, portChecks, deletedVms },
    ...(nodesVersion !== undefined && { nodesVersion }),
  })
  const plan = await planned(config, deps, observed)
  return { ...earlier, ...opened, reads: 'cluster', observed, plan, cluster: nodes, nodesReported: reported }
}

/** Reads everything and plans. */
async function observeAll(
  config: OpenstackConfig,
  deps: InspectDeps,
  { signal, hints }: InspectContext,
  opened: Opened,
  { cloud, delivered }: Reads,
): Promise<Inspection> {
  const { viola } = opened
  const [{ nodes, reported }, clusterNodes] = await deps.timed('held', () =>
    Promise.all([delivered(), config.spec.vmSelector?.clusterNodes ? readClusterNodes(viola, signal) : undefined]),
  )
  const nodesVersion = clusterNodes && 'version' in clusterNodes ? clusterNodes.version : undefined
  const lastVersion = deps.planner.nodesVersion(keyOf(config))
  // The server of a new Node may be newer than the servers in the cache.
  if (lastVersion !== undefined && nodesVersion !== lastVersion) cloud.invalidate({ servers: true, networks: false })
  const deliveredVms = () => vmsOf(nodes, keyOf(config))
  const cloudState = await deps.timed('cloud', () =>
    observeCloud(cloud, config.spec, { settings: opened.settings, deliveredVms, clusterNodes, signal }),
  )
  const bus = await stage('ContrabassError', () => cloud.bus(signal, hints.busRefused))
  const observed = withDelivered(nodes, {
    ...observedFrom(config, deps, opened, cloudState),
    ...(nodesVersion !== undefined && { nodesVersion }),
  })
  const plan = await planned(config, deps, observed)
  const list = { cluster: nodes, nodesReported: reported }
  const scope = { reads: 'everything', isTargeted: false } as const
  return { ...opened, ...scope, cloudState, bus, observed, plan, ...list, checkFailures: [] }
}

/** Asks the cloud again about what is missing, and plans on its answers. */
async function withChecks(
  inspection: Inspection,
  deps: InspectDeps,
  { signal, hints, user, before }: CheckContext,
): Promise<Inspection> {
  const { plan, cloud, cloudState, observed, cluster } = inspection
  const { missingPorts: missing, uncheckedVms } = plan
  if (missing.length === 0 && uncheckedVms.length === 0) {
    deps.repeatedReads.forget(user)
    return inspection
  }
  const [{ ports, portChecks, failures }, vms] = await deps.timed('answers', () =>
    Promise.all([
      checkMissingPorts(cloud, { missing, state: cloudState, deletedPorts: hints.deletedPorts, signal }),
      checkDeletedVms(cloud, uncheckedVms, signal),
    ]),
  )
  const doubtful = doubtfulPorts(missing, portChecks, before.observed)
  for (const identity of deps.repeatedReads.note(user, doubtful, before.startedAt))
    portChecks.set(identity, 'withoutSubnet')
  const answers = { ports: mergePorts(observed.ports, ports), portChecks, deletedVms: vms.deletedVms }
  const checked = withDelivered(cluster, { ...observed, ...answers })
  const checkFailures = [...failures, ...vms.failures]
  return { ...inspection, observed: checked, plan: planNodes(checked), checkFailures }
}

interface CheckContext extends InspectContext {
  user: string
  /** The last plan, and when this read started. */
  before: { observed: Observed | undefined; startedAt: number }
}

/** Ports without an address in a selected subnet, about which the second answer said nothing. */
function doubtfulPorts(
  missing: Plan['missingPorts'],
  portChecks: Observed['portChecks'],
  before: Observed | undefined,
): DoubtfulPort[] {
  const doubtful = missing.filter(one => one.port && !portChecks.has(identityOf(one)))
  if (doubtful.length === 0) return []
  const lastGood = new Map<string, Port>()
  const places = placesOf(before?.subnets ?? [])
  for (const port of before?.ports ?? []) if ('subnet' in addressesIn(port, places)) lastGood.set(port.id, port)
  return doubtful.flatMap(({ port, ...one }) =>
    port ? [{ identity: identityOf(one), port, lastGood: lastGood.get(port.id) }] : [],
  )
}

function vmsOf(nodes: readonly DeliveredNode[], source: string): string[] {
  const own = nodes.filter(({ interfaces }) => interfaces.some(nic => nic.source === source))
  return [...new Set(own.flatMap(({ instanceId }) => instanceId || []))]
}

export function listDelivered(viola: ViolaClient, signal: AbortSignal, allowed?: ListAge): Promise<DeliveredNodes> {
  return stage('ViolaError', () => viola.list(signal, allowed))
}

/** A cloud that refuses the account is reported beside the error of Viola, not after it. */
async function withCloudCheck(error: unknown, cloud: Cloud, signal: AbortSignal): Promise<unknown> {
  if (!(error instanceof SyncError) || signal.aborted) return error
  try {
    await logIn(cloud, signal)
    return error
  } catch (cloudError) {
    if (!(cloudError instanceof SyncError) || signal.aborted) return error
    const { reason, message, cause, retryAfterMs } = error
    return new SyncError(reason, message, { cause, retryAfterMs, cloudError })
  }
}

function shorter({ maxAgeMs = 0, maxStreamedMs = maxAgeMs }: ListAge, maxMs: number): ListAge {
  return { maxAgeMs: Math.min(maxAgeMs, maxMs), maxStreamedMs: Math.min(maxStreamedMs, maxMs) }
}

/** An error, also an empty list, is no statement about any VM. The VMs of vmNames do not wait for it. */
async function readClusterNodes(viola: ViolaClient, signal: AbortSignal): Promise<ClusterNodes | SyncError> {
  try {
    const nodes = await stage('ClusterNodesError', () => viola.clusterNodes(signal))
    return nodes.items.length > 0 ? nodes : new SyncError('ClusterNodesError', 'viola: the cluster has no Nodes')
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof SyncError) return error
    throw error
  }
}

/** What is observed, with what the cluster has of it. */
export function withDelivered(cluster: readonly DeliveredNode[], observed: Omit<Observed, 'delivered'>): Observed {
  return { ...observed, delivered: concernedNodes(cluster, observed) }
}

function mergePorts(ports: Observed['ports'], more: Observed['ports']): Observed['ports'] {
  const known = new Set(ports.map(port => port.id))
  return [...ports, ...more.filter(port => !known.has(port.id))]
}

function observedFrom(
  config: OpenstackConfig,
  deps: Pick<InspectDeps, 'claims' | 'now'>,
  { settings, providerId }: Pick<Inspection, 'settings' | 'providerId'>,
  cloudState: CloudState,
): Omit<Observed, 'delivered'> {
  const { vms, nodesWithoutVm, ports, subnets, subnetNames, networks } = cloudState
  const claims = deps.claims(providerId, keyOf(config))
  const reservedIndexes = [config.status ?? {}, ...claims].flatMap(one => one.reservedIndexes ?? [])
  const now = deps.now().getTime()
  const approval = removalApprovalOf(config)
  const { observedGeneration, renumber } = config.status ?? {}
  // An edit since the decision may have changed the indexes of subnets. A move that failed is rolled back anyway.
  const isDecided = observedGeneration === config.metadata.generation || renumber?.current?.phase === 'RollingBack'
  const isNew = isNewObject(config)
  return {
    source: keyOf(config),
    isNew,
    rules: rulesOf(settings, config.metadata.creationTimestamp, cloudState),
    subnets,
    subnetNames,
    networks,
    vms,
    nodesWithoutVm,
    ports,
    portChecks: new Map(),
    claims,
    resolvedNames: config.status?.resolvedNames ?? {},
    resolvedSubnets: config.status?.resolvedSubnets ?? {},
    reservedIndexes: reservedIndexes.filter(({ until }) => Date.parse(until) > now),
    deletedVms: new Map(),
    removalsOnHold: config.status?.heldRemovals ?? [],
    removalsApproved: !isNew && approval !== undefined && approval !== config.status?.approvedRemovals,
    ...(renumber?.current && isDecided && { renumber: renumber.current }),
  }
}

/** Its annotations are no requests: a file that was applied again has those of the object that was lost. */
export function isNewObject({ status }: OpenstackConfig): boolean {
  return status?.deliveredTo === undefined && (status?.orphanedNodes ?? []).length === 0
}

/** The value of the annotation by which a person approves removals. Each new value approves once. */
export function removalApprovalOf({ metadata }: OpenstackConfig): string | undefined {
  return metadata.annotations?.[openstackConfigAnnotations.approveRemovals]
}
