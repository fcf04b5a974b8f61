/**
 * Decides what one POST does to each node's object: create, update, nothing, or refuse.
 *
 * Pure: the request and what the cluster holds go in, one decision a node comes out.
 */
import { areComplete, fromWireInterfaces, type Interface, specHash, toWireInterface } from '../contract/interfaces.ts'
import { interfaceSchema, type NodeConfig, nodeConfigLabels, nodeConfigStatus } from '../contract/node-config.ts'
import type { ViolaHeldNode } from '../contract/viola.ts'
import { labelValue } from '../contract/node-names.ts'

export interface WantedNode {
  nodeName: string
  instanceId?: string
  interfaces: Interface[]
  objectName: string
  labels: Record<string, string>
  specHash: string
  /** What the caller planned on; empty when it must not exist. */
  expectedSpecHash?: string
}

export type Decision =
  | { do: 'create'; node: WantedNode }
  | { do: 'update'; node: WantedNode; held: NodeConfig }
  | { do: 'nothing'; node: WantedNode; held: NodeConfig }
  | { do: 'refuse'; node: WantedNode; held?: NodeConfig; message: string }

export interface PlanContext {
  providerId: string
  held(objectName: string): NodeConfig | undefined
  /** May the caller take a node over that another provider delivered? */
  mayTakeFrom(providerId: string): boolean
}

export function planNodeConfigs(nodes: readonly WantedNode[], context: PlanContext): Decision[] {
  const first = new Map<string, WantedNode>()
  const meeting = new Set<string>()
  for (const node of nodes) {
    if (first.has(node.objectName)) meeting.add(node.objectName)
    else first.set(node.objectName, node)
  }
  return nodes.map(node => {
    if (!meeting.has(node.objectName)) return planNodeConfig(node, context.held(node.objectName), context)
    const names = nodes.filter(({ objectName }) => objectName === node.objectName).map(({ nodeName }) => nodeName)
    return { do: 'refuse', node, message: `${names.join(' and ')} would both be the object ${node.objectName}` }
  })
}

export function planNodeConfig(
  node: WantedNode,
  held: NodeConfig | undefined,
  { providerId, mayTakeFrom }: Pick<PlanContext, 'providerId' | 'mayTakeFrom'>,
): Decision {
  const { expectedSpecHash: expected } = node
  if (!held)
    return expected
      ? { do: 'refuse', node, message: `the cluster holds no config of ${node.nodeName}; ${expected} was expected` }
      : { do: 'create', node }

  const refuse = (message: string): Decision => ({ do: 'refuse', node, held, message })
  const { spec, metadata } = held
  if (spec.nodeName !== node.nodeName)
    return refuse(`the object ${node.objectName} belongs to the node ${spec.nodeName} already`)
  const owner = spec.providerId
  if (owner && owner !== providerId) {
    // The same VM under another provider id: its OpenstackConfig was given another k8sProviderID.
    const sameMachine = node.instanceId !== undefined && node.instanceId === spec.instanceId
    if (!sameMachine) return refuse(`the node ${node.nodeName} belongs to provider ${owner}`)
    if (!mayTakeFrom(owner)) return refuse(`the node ${node.nodeName} belongs to provider ${owner}, which is not yours`)
  }
  // Whatever is written now would go with it.
  if (metadata.deletionTimestamp)
    return refuse(`the config of ${node.nodeName} is being deleted; send it again when it is gone`)

  const current = heldNode(held).specHash
  if (expected !== undefined && expected !== current)
    return refuse(
      expected
        ? `the cluster holds ${current} for ${node.nodeName}; ${expected} was expected`
        : `the cluster holds a config of ${node.nodeName} already`,
    )
  return isAsWanted(node, held, providerId) ? { do: 'nothing', node, held } : { do: 'update', node, held }
}

/** Labels of others stay theirs; ours must be there. */
function isAsWanted(node: WantedNode, held: NodeConfig, providerId: string): boolean {
  const labels = held.metadata.labels ?? {}
  return (
    heldNode(held).specHash === node.specHash &&
    held.spec.specHash === node.specHash &&
    held.spec.providerId === providerId &&
    Object.entries(node.labels).every(([key, value]) => labels[key] === value)
  )
}

/** What is applied: spec and labels, nothing else. */
export function appliedObject(node: WantedNode, providerId: string, held?: NodeConfig) {
  const instanceId = node.instanceId ?? (held?.spec.instanceId ? '' : undefined)
  return {
    metadata: { name: node.objectName, labels: node.labels },
    spec: {
      providerId,
      nodeName: node.nodeName,
      // Left out, an id that somebody else put there would stay; empty, it is gone.
      ...(instanceId === undefined ? {} : { instanceId }),
      specHash: node.specHash,
      interfaces: node.interfaces.map(toWireInterface),
    },
  }
}

const known = new WeakMap<NodeConfig, ViolaHeldNode>()

/**
 * An object as callers see it. The hash is of what the spec really says: `spec.specHash` is a hint, and stale after an
 * edit by hand.
 */
export function heldNode(held: NodeConfig): ViolaHeldNode {
  const before = known.get(held)
  if (before) return before
  const { spec, metadata } = held
  const interfaces = fromWireInterfaces(spec.interfaces)
  // Objects from before our schema may hold what it refuses. Callers get the sound part; the hash is of all of it.
  // A complete list is kept as it is: thousands of objects share their interfaces with the cache.
  const wire = areComplete(spec.interfaces) ? spec.interfaces : interfaces.map(toWireInterface)
  const sound = wire.filter(nic => interfaceSchema.safeParse(nic).success)
  const { status } = held
  const node: ViolaHeldNode = {
    nodeName: spec.nodeName,
    ...(spec.instanceId ? { instanceId: spec.instanceId } : {}),
    ...(spec.providerId ? { providerId: spec.providerId } : {}),
    specHash: specHash({ nodeName: spec.nodeName, instanceId: spec.instanceId, interfaces }),
    generation: metadata.generation ?? 0,
    interfaces: sound.length === wire.length ? wire : sound,
    ...(status && nodeConfigStatus.safeParse(status).success ? { status } : {}),
  }
  known.set(held, node)
  return node
}

/** Objects that were made by hand name no provider, or only in the label of older versions: they are everybody's. */
export function belongsTo(held: NodeConfig, providerId: string): boolean {
  if (held.spec.providerId) return held.spec.providerId === providerId
  const labelled = held.metadata.labels?.[nodeConfigLabels.providerId]
  return labelled === undefined || labelled === labelValue(providerId)
}
