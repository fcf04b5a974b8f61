/**
 * Deletion of an OpenstackConfig: removes its interfaces (deletionPolicy Delete) or keeps them (Retain), deletes its
 * verdicts, then drops the finalizer. The user deleted the object, so the cloud is not asked.
 */
import { mergePatch } from '../../contract/json.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  openstackConfigFinalizer,
  openstackConfigs,
  providerIdOf,
} from '../../contract/openstack-config.ts'
import type { Kube } from '../../kube/api.ts'
import type { KubeClient } from '../../kube/client.ts'
import type { Requeue } from '../../kube/controller.ts'
import { definitionState, deletionSettleMs, servedVerbs } from '../../kube/discovery.ts'
import { isNotFound } from '../../kube/errors.ts'
import { keyOf } from '../../kube/keys.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import { violaCredentialsFor } from '../clouds/credentials.ts'
import type { SyncSettings } from '../config.ts'
import { type Delivery, deliver, logDelivered } from '../deliver/deliver.ts'
import { type NodePlan, planRelease } from '../plan/plan.ts'
import { targetOf } from '../status/findings.ts'
import {
  deadlineOf,
  gaveUpText,
  pendingText,
  pendingVerdicts,
  type Remains,
  remainingOf,
  verdictsPendingText,
} from '../status/removal-pending.ts'
import { pendingStatus } from '../status/status.ts'
import { withField } from '../viola/unknown-provider.ts'
import type { ViolaClient } from '../viola/viola-client.ts'
import { auditOfDeletion } from './audit.ts'
import type { ObjectEvents } from './object-events.ts'
import { type SyncDeps, withTimeLimit } from './sync.ts'

export interface DeletionDeps extends SyncDeps {
  kube: Pick<Kube, 'patch' | 'patchStatus'> & Pick<KubeClient, 'raw'>
  objectEvents: ObjectEvents
}

interface Context {
  log: Log
  signal: AbortSignal
}

const retryMs = 5_000
/** An object that never delivered anything does not wait for a Viola that hangs. */
const undeliveredMs = 5_000

export async function release(
  config: OpenstackConfig,
  deps: DeletionDeps,
  context: Context,
): Promise<Requeue | undefined> {
  if (!config.metadata.finalizers?.includes(openstackConfigFinalizer)) return undefined
  const givesUp = deps.now().getTime() >= deadlineOf(config).getTime()
  let areKept = config.spec.deletionPolicy === 'Retain'
  if (!areKept) {
    const isKnown = await deps.deliveries.mayHaveDelivered(config).catch(() => true)
    const settlesIn = Date.parse(config.metadata.deletionTimestamp ?? '') + deletionSettleMs - deps.now().getTime()
    if (isKnown && settlesIn > 0) return { after: Math.min(settlesIn, deletionSettleMs) }
    const left = await removeInterfaces(config, deps, context, isKnown)
    areKept = left !== undefined
    if (left && left !== 'kept') {
      if (!givesUp) return wait(config, deps, context, left)
      const message = gaveUpText(config, left.problem, left.remains)
      deps.objectEvents.warn(config, 'RemovalPending', message)
      context.log.warn('deletion gave up', { problem: left.problem, remains: left.remains })
    }
  }
  // Nobody else deletes them later.
  const object = { config: keyOf(config), providerId: providerIdOf(config), verdicts: undefined }
  if (!(await deps.records.flush(context.log, object)) && !givesUp) {
    await report(config, deps, verdictsPendingText(config))
    return { after: retryMs }
  }
  const entry = auditOfDeletion(config, deps.now().toISOString(), areKept)
  context.log.info('audit', entry)
  deps.records.noteAudit(entry)
  await deps.records.flush(context.log)
  await dropFinalizer(config, deps.kube)
  return undefined
}

/** What is left to do. */
interface Left {
  problem: string
  remains: Remains
}

async function wait(
  config: OpenstackConfig,
  deps: DeletionDeps,
  { log }: Context,
  { problem, remains }: Left,
): Promise<Requeue> {
  const message = pendingText(config, problem, remains)
  await report(config, deps, message)
  if (remains) {
    const object = { config: keyOf(config), providerId: providerIdOf(config) }
    await deps.records.flush(log, { ...object, verdicts: pendingVerdicts(remains, message) })
  }
  return { after: retryMs }
}

/** In an Event and in the status. */
async function report(config: OpenstackConfig, deps: DeletionDeps, message: string): Promise<void> {
  deps.objectEvents.warn(config, 'RemovalPending', message)
  const { name, namespace, generation = 0 } = config.metadata
  const times = { generation, now: deps.now(), until: deadlineOf(config) }
  const status = pendingStatus(config.status, message, times)
  if (!status) return
  try {
    const at = { name, ...(namespace && { namespace }) }
    await deps.kube.patchStatus(openstackConfigs, at, mergePatch(config.status ?? {}, status))
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}

/** Undefined if nothing is left, `kept` if the interfaces stay on purpose. */
async function removeInterfaces(
  config: OpenstackConfig,
  deps: DeletionDeps,
  { log, signal: parent }: Context,
  isKnown: boolean,
): Promise<Left | 'kept' | undefined> {
  const signal = withTimeLimit(parent, isKnown ? deps.maxSyncMs : undeliveredMs)
  const listed: { remains: Remains } = { remains: undefined }
  try {
    if (isKnown && (await isDeletedWithDefinition(config, deps))) {
      deps.objectEvents.warn(config, 'InterfacesRetained', keptText)
      return 'kept'
    }
    const problems = await removeListed(config, deps, { log, signal }, listed)
    return problems.length > 0 ? { problem: problems.join('; '), remains: listed.remains } : undefined
  } catch (error) {
    parent.throwIfAborted()
    if (!isKnown && !listed.remains?.length) return undefined
    const remains = listed.remains ?? (await deps.deliveries.recorded(config).catch(() => undefined))
    return { problem: messageOf(withField(error, config, deps.policy)), remains }
  }
}

const keptText =
  'deleted with its CustomResourceDefinition: the interfaces stay on the nodes. To remove them, create both again and delete the object.'

/** Nobody asked for its removal, unless by the annotation that approves removals. */
async function isDeletedWithDefinition({ metadata }: OpenstackConfig, { kube }: DeletionDeps): Promise<boolean> {
  if (metadata.annotations?.[openstackConfigAnnotations.approveRemovals] !== undefined) return false
  return definitionState(await servedVerbs(kube, openstackConfigs), openstackConfigs.plural) === 'terminating'
}

/** Returns what failed. `listed` gets what Viola says that remains. */
async function removeListed(
  config: OpenstackConfig,
  deps: DeletionDeps,
  { log, signal }: Context,
  listed: { remains: Remains },
): Promise<string[]> {
  const [providerId, source] = [providerIdOf(config), keyOf(config)]
  const { viola, settings } = await openViola(config, deps)
  const planned = async () => {
    const { nodes } = await viola.list(signal)
    listed.remains = remainingOf(source, nodes)
    return planRelease(source, nodes, deps.claims(providerId, source))
  }
  const keys = (await planned()).map(node => `${providerId} ${node.instanceId}`)
  const left = await deps.locks.hold(keys, async () => {
    const nodes = (await planned()).filter(
      node => node.action !== 'remove' || !deps.pendingDeletions.has(providerId, node),
    )
    await deps.deliveries.mark(config, targetOf(settings, providerId), nodes)
    const delivery = await deliver(viola, nodes, signal)
    await logDelivered(log, nodes, delivery)
    record(deps, providerId, nodes, delivery)
    return new Map([...delivery.failures, ...delivery.refused, ...delivery.conflicts])
  })
  listed.remains = listed.remains?.filter(({ nodeName }) => left.has(nodeName))
  await deps.records.flush(log)
  return [...left].map(([node, message]) => `${node}: ${message}`)
}

/** A namespace is often deleted with its Secrets first: then the client that the object used last removes its interfaces. */
async function openViola(
  config: OpenstackConfig,
  deps: DeletionDeps,
): Promise<{ viola: ViolaClient; settings: SyncSettings }> {
  const user = keyOf(config)
  const settings = deps.policy.admit(config)
  try {
    const credentials = await violaCredentialsFor(config, settings, deps.sources(user))
    const viola = deps.violaClients.open({ user, settings, credentials, providerId: providerIdOf(config) })
    return { viola, settings }
  } catch (error) {
    const last = deps.violaClients.last(user)
    if (!last) throw error
    return { viola: last, settings }
  }
}

function record(deps: DeletionDeps, providerId: string, nodes: readonly NodePlan[], delivery: Delivery): void {
  for (const node of nodes) {
    const why = node.why.join('; ')
    const accepted = delivery.accepted.get(node.nodeName)
    if (delivery.removed.has(node.nodeName)) {
      deps.pendingDeletions.add(providerId, node)
      deps.records.noteGone(providerId, node, why)
    } else if (accepted) {
      deps.records.note(providerId, { ...node, specHash: accepted.specHash ?? '', generation: 1 }, why)
    }
  }
}

async function dropFinalizer({ metadata }: OpenstackConfig, kube: Pick<Kube, 'patch'>): Promise<void> {
  const { name, namespace, resourceVersion, finalizers = [] } = metadata
  const rest = finalizers.filter(finalizer => finalizer !== openstackConfigFinalizer)
  try {
    await kube.patch(
      openstackConfigs,
      { name, ...(namespace && { namespace }) },
      { metadata: { finalizers: rest, ...(resourceVersion && { resourceVersion }) } },
    )
  } catch (error) {
    if (!isNotFound(error)) throw error
  }
}
