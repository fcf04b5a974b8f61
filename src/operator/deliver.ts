/**
 * Sends what the plan asks for to Viola: at most 200 nodes and 1 MiB a POST, each node with the state that it was planned
 * on; a node that has nothing left is deleted. One bad node never keeps the others from being delivered.
 */
import { toWireInterface } from '../contract/interfaces.ts'
import { maxNodesPerPost, type ViolaNodeConfig } from '../contract/viola.ts'
import { batchesOf } from '../http-client/batches.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import type { NodePlan } from './plan.ts'
import { type Viola, ViolaRefusal } from './viola-client.ts'

export interface Delivery {
  /** Accepted, with the hash that the cluster holds now where Viola tells it. */
  accepted: Map<string, { action: string; specHash?: string }>
  removed: Set<string>
  /** The cluster holds something else than was planned on: look again. */
  conflicts: Map<string, string>
  failures: Map<string, string>
  /** Removals that Viola refused. */
  refused: Map<string, string>
}

/** While Viola works on one, the next is written. */
const postsAtOnce = 2

const limits = {
  items: maxNodesPerPost,
  bytes: 1024 * 1024,
  costOf: (node: ViolaNodeConfig) => JSON.stringify(node).length,
}

export async function deliver(
  door: Viola,
  nodes: readonly NodePlan[],
  signal: AbortSignal,
  traceparent?: string,
): Promise<Delivery> {
  const viola = traced(door, traceparent)
  const delivery: Delivery = {
    accepted: new Map(),
    removed: new Set(),
    conflicts: new Map(),
    failures: new Map(),
    refused: new Map(),
  }
  const sent = nodes.filter(({ action }) => action !== 'remove').map(asSent)
  const batches = batchesOf(sent, limits).values()
  const send = async () => {
    for (const batch of batches) await post(viola, batch, delivery, signal)
  }
  await Promise.all(Array.from({ length: postsAtOnce }, send))
  for (const node of nodes.filter(({ action }) => action === 'remove')) await remove(viola, node, delivery, signal)
  return delivery
}

/** The same Viola; it is told which trace its work belongs to. */
function traced(viola: Viola, traceparent: string | undefined): Viola {
  return {
    held: signal => viola.held(signal),
    post: (nodes, signal) => viola.post(nodes, signal, traceparent),
    remove: (nodeName, expected, signal) => viola.remove(nodeName, expected, signal, traceparent),
  }
}

/** What got through, node by node; what did not is told by the error. */
export function tellDelivered(log: Log, nodes: readonly NodePlan[], { accepted, removed }: Delivery): void {
  for (const { nodeName: node, action, why } of nodes)
    if (accepted.has(node) || removed.has(node)) log.info('delivered', { node, action, why })
}

function asSent({ nodeName, instanceId, interfaces, expectedSpecHash }: NodePlan): ViolaNodeConfig {
  return {
    nodeName,
    ...(instanceId !== '' && { instanceId }),
    interfaces: interfaces.map(toWireInterface),
    expectedSpecHash,
  }
}

/** A refusal of the content is narrowed down by halves to the nodes that it is about. */
async function post(viola: Viola, batch: ViolaNodeConfig[], delivery: Delivery, signal: AbortSignal): Promise<void> {
  try {
    const { results } = await viola.post(batch, signal)
    for (const { nodeName } of batch) settle(delivery, nodeName, results.get(nodeName) ?? { action: 'updated' })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof ViolaRefusal && error.isAboutContent && batch.length > 1) {
      const middle = Math.ceil(batch.length / 2)
      await post(viola, batch.slice(0, middle), delivery, signal)
      await post(viola, batch.slice(middle), delivery, signal)
      return
    }
    for (const { nodeName } of batch) delivery.failures.set(nodeName, messageOf(error))
  }
}

function settle(
  delivery: Delivery,
  nodeName: string,
  result: { action: string; message?: string | undefined; specHash?: string | undefined },
): void {
  const { action, message = '', specHash } = result
  if (action === 'conflict') delivery.conflicts.set(nodeName, message)
  else if (action === 'failed') delivery.failures.set(nodeName, message || 'Viola did not say why')
  else delivery.accepted.set(nodeName, { action, ...(specHash !== undefined && { specHash }) })
}

async function remove(viola: Viola, node: NodePlan, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { nodeName } = node
  try {
    const outcome = await viola.remove(nodeName, node.expectedSpecHash, signal)
    if (outcome === 'removed') delivery.removed.add(nodeName)
    else if (outcome === 'conflict') delivery.conflicts.set(nodeName, 'the cluster holds another config')
    else await empty(viola, node, delivery, signal)
  } catch (error) {
    signal.throwIfAborted()
    delivery.refused.set(nodeName, messageOf(error))
  }
}

/** For a Viola without DELETE. */
async function empty(viola: Viola, node: NodePlan, delivery: Delivery, signal: AbortSignal): Promise<void> {
  const { results } = await viola.post([{ ...asSent(node), interfaces: [] }], signal)
  const { action, message = '' } = results.get(node.nodeName) ?? { action: 'updated' }
  if (action === 'conflict') delivery.conflicts.set(node.nodeName, message)
  else if (action === 'failed') delivery.refused.set(node.nodeName, message)
  else delivery.removed.add(node.nodeName)
}
