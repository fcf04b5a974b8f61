/**
 * Delivers a plan to Viola: at most 200 nodes and 1 MiB for each POST. Each node carries the spec hash that it was planned
 * on. A node without interfaces is deleted. A node that Viola refuses does not block the others.
 */
import { maxNodesPerPost } from '../../contract/viola.ts'
import { batchesOf } from '../../http-client/batches.ts'
import { messageOf } from '../../runtime/errors.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Log } from '../../telemetry/log.ts'
import type { NodePlan } from '../plan/plan.ts'
import type { NodeToWrite, ViolaClient } from '../viola/viola-client.ts'
import { ViolaError } from '../viola-error.ts'

export interface Delivery {
  /** With the spec hash that the cluster has now, if Viola reports it. */
  accepted: Map<string, { action: string; specHash?: string }>
  removed: Set<string>
  /** The cluster has another config than the plan was based on: plan again. */
  conflicts: Map<string, string>
  failures: Map<string, string>
  /** Removals that Viola refused. */
  refused: Map<string, string>
}

export function emptyDelivery(): Delivery {
  return { accepted: new Map(), removed: new Set(), conflicts: new Map(), failures: new Map(), refused: new Map() }
}

/** The next batch is serialized while Viola works on the previous one. */
const concurrentPosts = 2

const limits = {
  items: maxNodesPerPost,
  bytes: 1024 * 1024,
  costOf: (node: NodeToWrite) => JSON.stringify(node).length,
}

type Writer = Pick<ViolaClient, 'post' | 'remove'>

export async function deliver(
  client: Writer,
  nodes: readonly NodePlan[],
  signal: AbortSignal,
  traceparent?: string,
): Promise<Delivery> {
  const viola = withTrace(client, traceparent)
  const delivery = emptyDelivery()
  const batches = batchesOf(nodesToSend(nodes), limits)
  const send = async () => {
    for (const batch of batches) await post(viola, batch, delivery, signal)
  }
  await Promise.all(Array.from({ length: concurrentPosts }, send))
  for (const node of nodes.filter(({ action }) => action === 'remove')) await remove(viola, node, delivery, signal)
  return delivery
}

/** Sends the traceparent of the sync with every write. */
function withTrace(viola: Writer, traceparent: string | undefined): Writer {
  return {
    post: (nodes, signal) => viola.post(nodes, signal, traceparent),
    remove: (node, signal) => viola.remove(node, signal, traceparent),
  }
}

/** Logs each delivered node. The error of the sync names the others. */
export async function logDelivered(
  log: Log,
  nodes: readonly NodePlan[],
  { accepted, removed }: Delivery,
): Promise<void> {
  for (const { nodeName: node, action, why } of nodes) {
    if (accepted.has(node) || removed.has(node)) log.info('delivered', { node, action, why })
    await giveWay()
  }
}

function* nodesToSend(nodes: readonly NodePlan[]): Generator<NodeToWrite> {
  for (const node of nodes) if (node.action !== 'remove') yield toWrite(node)
}

function toWrite({ nodeName, instanceId, instanceName, interfaces, expectedSpecHash }: NodePlan): NodeToWrite {
  return {
    nodeName,
    ...(instanceId !== '' && { instanceId }),
    ...(instanceName !== undefined && { instanceName }),
    interfaces,
    expectedSpecHash,
  }
}

/** When Viola refuses the content of a batch, halves it until only the invalid nodes are refused. */
async function post(viola: Writer, batch: NodeToWrite[], delivery: Delivery, signal: AbortSignal): Promise<void> {
  try {
    const { results } = await viola.post(batch, signal)
    for (const { nodeName } of batch) addResult(delivery, nodeName, results.get(nodeName) ?? { action: 'updated' })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ViolaError && error.isAboutContent && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await post(viola, batch.slice(0, middle), delivery, signal)
      await post(viola, batch.slice(middle), delivery, signal)
      return
    }
    for (const { nodeName } of batch) delivery.failures.set(nodeName, messageOf(error))
  }
}

function addResult(
  delivery: Delivery,
  nodeName: string,
  result: { action: string; message?: string | undefined; specHash?: string | undefined },
): void {
  const { action, message = '', specHash } = result
  if (action === 'conflict') delivery.conflicts.set(nodeName, message)
  else if (action === 'failed') delivery.failures.set(nodeName, message || 'Viola gave no reason')
  else delivery.accepted.set(nodeName, { action, ...(specHash !== undefined && { specHash }) })
}

async function remove(viola: Writer, plan: NodePlan, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { nodeName, instanceId, expectedSpecHash } = plan
  try {
    const node = { nodeName, ...(instanceId !== '' && { instanceId }), expectedSpecHash }
    const outcome = await viola.remove(node, signal)
    if (outcome === 'removed') delivery.removed.add(nodeName)
    else delivery.conflicts.set(nodeName, 'the cluster has another config of this node')
  } catch (error) {
    signal.throwIfAborted()
    delivery.refused.set(nodeName, messageOf(error))
  }
}
