/**
 * The end of an OpenstackConfig: what it delivered is taken away (deletionPolicy Delete) or left (Retain), then the
 * finalizer goes. Deletion is the user's own word, so the cloud is not asked.
 */
import { type OpenstackConfig, openstackConfigFinalizer, openstackConfigs } from '../contract/openstack-config.ts'
import type { Kube } from '../kube/api.ts'
import type { Requeue } from '../kube/controller.ts'
import { isNotFound } from '../kube/errors.ts'
import { keyOf } from '../kube/keys.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { resolveSettings } from './config.ts'
import { violaCredentialsFor } from './credentials.ts'
import { type Delivery, deliver, tellDelivered } from './deliver.ts'
import type { Notices } from './object-events.ts'
import { type NodePlan, planRelease } from './plan.ts'
import { providerIdOf } from './provider.ts'
import type { SyncDeps } from './sync.ts'

export interface DeletionDeps extends SyncDeps {
  kube: Pick<Kube, 'patch'>
  notices: Notices
}

/** A Viola that is away for good must not keep an object for ever. */
const patienceMs = 15 * 60_000
const retryMs = 5_000

export async function release(
  config: OpenstackConfig,
  deps: DeletionDeps,
  context: { log: Log; signal: AbortSignal },
): Promise<Requeue | undefined> {
  const { metadata } = config
  if (!metadata.finalizers?.includes(openstackConfigFinalizer)) return undefined
  if (config.spec.deletionPolicy !== 'Retain') {
    const problem = await takeAway(config, deps, context)
    const since = Date.parse(metadata.deletionTimestamp ?? '')
    if (problem !== undefined && deps.now().getTime() - since < patienceMs) {
      deps.notices.warn(config, 'RemovalPending', problem)
      return { after: retryMs }
    }
    if (problem !== undefined) deps.notices.warn(config, 'RemovalPending', `given up, interfaces stay: ${problem}`)
  }
  await dropFinalizer(config, deps.kube)
  return undefined
}

/** What keeps it from being done; undefined when all is away. */
async function takeAway(
  config: OpenstackConfig,
  deps: DeletionDeps,
  { log, signal }: { log: Log; signal: AbortSignal },
): Promise<string | undefined> {
  try {
    const settings = resolveSettings(deps.env, config.spec.settings)
    const credentials = await violaCredentialsFor(config, settings, deps.sources(keyOf(config)))
    const providerId = providerIdOf(config)
    const source = keyOf(config)
    const viola = deps.violas.open({ settings, credentials, providerId })
    const due = async () => planRelease(source, (await viola.held(signal)).nodes, deps.claims(providerId, source))
    const keys = (await due()).map(node => `${providerId} ${node.instanceId}`)
    const left = await deps.locks.hold(keys, async () => {
      const nodes = (await due()).filter(node => node.action !== 'remove' || !deps.leaving.has(providerId, node))
      const delivery = await deliver(viola, nodes, signal)
      tellDelivered(log, nodes, delivery)
      note(deps, providerId, nodes, delivery)
      return [...delivery.failures, ...delivery.refused, ...delivery.conflicts]
    })
    await deps.records.flush(log)
    return left.length > 0 ? left.map(([node, message]) => `${node}: ${message}`).join('; ') : undefined
  } catch (error) {
    signal.throwIfAborted()
    return messageOf(error)
  }
}

function note(deps: DeletionDeps, providerId: string, nodes: readonly NodePlan[], delivery: Delivery): void {
  for (const node of nodes) {
    const why = node.why.join('; ')
    const accepted = delivery.accepted.get(node.nodeName)
    if (delivery.removed.has(node.nodeName)) {
      deps.leaving.add(providerId, node)
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
