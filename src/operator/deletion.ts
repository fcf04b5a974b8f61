/**
 * Deletion of an OpenstackConfig: removes its interfaces (deletionPolicy Delete) or keeps them (Retain), deletes its
 * verdicts, then drops the finalizer. The user deleted the object, so the cloud is not asked.
 */
import {
  type OpenstackConfig,
  openstackConfigFinalizer,
  openstackConfigs,
  providerIdOf,
} from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import type { Requeue } from '../kube/controller.ts'
import { isNotFound } from '../kube/errors.ts'
import { keyOf } from '../kube/keys.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { violaCredentialsFor } from './credentials.ts'
import { type Delivery, deliver, logDelivered } from './deliver.ts'
import type { ObjectEvents } from './object-events.ts'
import { type NodePlan, planRelease } from './plan.ts'
import { type SyncDeps, withTimeLimit } from './sync.ts'
import type { ViolaClient } from './viola-client.ts'

export interface DeletionDeps extends SyncDeps {
  kube: Pick<Kube, 'patch'>
  objectEvents: ObjectEvents
}

/** After this time the object is deleted although Viola is unreachable. */
const giveUpAfterMs = 15 * 60_000
const retryMs = 5_000

export async function release(
  config: OpenstackConfig,
  deps: DeletionDeps,
  context: { log: Log; signal: AbortSignal },
): Promise<Requeue | undefined> {
  const { metadata } = config
  if (!metadata.finalizers?.includes(openstackConfigFinalizer)) return undefined
  const since = Date.parse(metadata.deletionTimestamp ?? '')
  const givesUp = deps.now().getTime() - since >= giveUpAfterMs
  if (config.spec.deletionPolicy !== 'Retain') {
    const problem = await removeInterfaces(config, deps, context)
    if (problem !== undefined && !givesUp) {
      deps.objectEvents.warn(config, 'RemovalPending', problem)
      return { after: retryMs }
    }
    if (problem !== undefined)
      deps.objectEvents.warn(config, 'RemovalPending', `gave up, the interfaces stay on the nodes: ${problem}`)
  }
  // Nobody else deletes them later.
  const object = { config: keyOf(config), providerId: providerIdOf(config), verdicts: undefined }
  if (!(await deps.records.flush(context.log, object)) && !givesUp) {
    deps.objectEvents.warn(config, 'RemovalPending', 'cannot delete the verdicts of the object in the inventory')
    return { after: retryMs }
  }
  await dropFinalizer(config, deps.kube)
  return undefined
}

/** Returns what is left to do, or undefined if nothing is. */
async function removeInterfaces(
  config: OpenstackConfig,
  deps: DeletionDeps,
  { log, signal: parent }: { log: Log; signal: AbortSignal },
): Promise<string | undefined> {
  const signal = withTimeLimit(parent, deps.maxSyncMs)
  try {
    const providerId = providerIdOf(config)
    const source = keyOf(config)
    const viola = await openViola(config, deps)
    const planned = async () => planRelease(source, (await viola.list(signal)).nodes, deps.claims(providerId, source))
    const keys = (await planned()).map(node => `${providerId} ${node.instanceId}`)
    const left = await deps.locks.hold(keys, async () => {
      const nodes = (await planned()).filter(
        node => node.action !== 'remove' || !deps.pendingDeletions.has(providerId, node),
      )
      const delivery = await deliver(viola, nodes, signal)
      await logDelivered(log, nodes, delivery)
      record(deps, providerId, nodes, delivery)
      return [...delivery.failures, ...delivery.refused, ...delivery.conflicts]
    })
    await deps.records.flush(log)
    return left.length > 0 ? left.map(([node, message]) => `${node}: ${message}`).join('; ') : undefined
  } catch (error) {
    parent.throwIfAborted()
    return messageOf(error)
  }
}

/** A namespace is often deleted with its Secrets first: then the client that the object used last removes its interfaces. */
async function openViola(config: OpenstackConfig, deps: DeletionDeps): Promise<ViolaClient> {
  const user = keyOf(config)
  const settings = deps.policy.admit(config)
  try {
    const credentials = await violaCredentialsFor(config, settings, deps.sources(user))
    return deps.violaClients.open({ user, settings, credentials, providerId: providerIdOf(config) })
  } catch (error) {
    const last = deps.violaClients.last(user)
    if (!last) throw error
    return last
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
