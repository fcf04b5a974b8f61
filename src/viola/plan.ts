/**
 * Plans a POST: compares each requested node with the existing object and decides to create, update, skip or refuse. Pure.
 */
import { areComplete, fromWireInterfaces, type Interface, specHash, toWireInterface } from '../contract/interfaces.ts'
import { equalJson } from '../contract/json.ts'
import { interfaceSchema, type NodeConfig, nodeConfigLabels, nodeConfigStatus } from '../contract/node-config.ts'
import { labelValue } from '../contract/node-names.ts'
import type { ViolaNode } from '../contract/viola.ts'

export interface RequestedNode {
  nodeName: string
  instanceId?: string
  instanceName?: string
  interfaces: Interface[]
  objectName: string
  labels: Record<string, string>
  specHash: string
  /** Hash of the object that the caller expects in the cluster. Empty: the object must not exist. */
  expectedSpecHash?: string
}

export type Decision =
  | { do: 'create'; node: RequestedNode }
  | { do: 'update'; node: RequestedNode; existing: NodeConfig }
  | { do: 'nothing'; node: RequestedNode; existing: NodeConfig }
  | { do: 'refuse'; node: RequestedNode; existing?: NodeConfig; message: string }

export interface PlanContext {
  providerId: string
  providerName?: string | undefined
  existing(objectName: string): NodeConfig | undefined
  /** Whether the caller may take over a node of this provider. */
  mayTakeOver(providerId: string): boolean
}

/** The other providers that own a requested node: the caller needs the right to take over from them. */
export function otherOwners(
  nodes: readonly RequestedNode[],
  existing: PlanContext['existing'],
  providerId: string,
): Set<string> {
  const owners = nodes.map(({ objectName }) => existing(objectName)?.spec.providerId)
  return new Set(owners.filter(owner => owner !== undefined && owner !== '' && owner !== providerId) as string[])
}

export function planNodeConfigs(nodes: readonly RequestedNode[], context: PlanContext): Decision[] {
  const byObject = Map.groupBy(nodes, ({ objectName }) => objectName)
  const shared = new Map([...byObject].filter(([, sharing]) => sharing.length > 1))
  return nodes.map(node => {
    const sharing = shared.get(node.objectName)
    if (!sharing) return planNodeConfig(node, context.existing(node.objectName), context)
    const names = sharing.slice(0, maxNamed).map(({ nodeName }) => nodeName)
    const more = sharing.length > maxNamed ? ` and ${sharing.length - maxNamed} more` : ''
    return { do: 'refuse', node, message: `${names.join(' and ')}${more} map to the same object ${node.objectName}` }
  })
}

/** Names in a message about nodes that share an object. */
const maxNamed = 5

export function planNodeConfig(
  node: RequestedNode,
  existing: NodeConfig | undefined,
  { providerId, mayTakeOver }: Pick<PlanContext, 'providerId' | 'mayTakeOver'>,
): Decision {
  const { expectedSpecHash: expected } = node
  if (!existing)
    return expected
      ? { do: 'refuse', node, message: `node ${node.nodeName} has no config, expected ${expected}` }
      : { do: 'create', node }

  const refuse = (message: string): Decision => ({ do: 'refuse', node, existing, message })
  const { spec, metadata } = existing
  if (spec.nodeName !== node.nodeName) return refuse(`object ${node.objectName} belongs to node ${spec.nodeName}`)
  const owner = spec.providerId
  if (owner && owner !== providerId) {
    // The same VM with another provider ID: k8sProviderID of its OpenstackConfig has changed.
    const isSameVm = node.instanceId !== undefined && node.instanceId === spec.instanceId
    if (!isSameVm) return refuse(`node ${node.nodeName} belongs to provider ${owner}`)
    if (!mayTakeOver(owner))
      return refuse(`node ${node.nodeName} belongs to provider ${owner}, and the caller may not act for it`)
  }
  // The deletion would also delete this write.
  if (metadata.deletionTimestamp)
    return refuse(`the config of node ${node.nodeName} is being deleted; retry after its deletion`)

  const current = toViolaNode(existing).specHash
  if (expected !== undefined && expected !== current)
    return refuse(
      expected
        ? `node ${node.nodeName} has config ${current}, expected ${expected}`
        : `node ${node.nodeName} already has a config, expected none`,
    )
  return isUpToDate(node, existing, providerId) ? { do: 'nothing', node, existing } : { do: 'update', node, existing }
}

/** Other labels do not matter, and names alone are no change. An alias is: labels and objects of the cluster have it. */
function isUpToDate(node: RequestedNode, existing: NodeConfig, providerId: string): boolean {
  const labels = existing.metadata.labels ?? {}
  return (
    toViolaNode(existing).specHash === node.specHash &&
    existing.spec.specHash === node.specHash &&
    existing.spec.providerId === providerId &&
    equalJson(aliasesIn(existing.spec.interfaces), aliasesIn(node.interfaces)) &&
    Object.entries(node.labels).every(([key, value]) => labels[key] === value)
  )
}

function aliasesIn(interfaces: readonly { name?: string | undefined; alias?: string | undefined }[]): object {
  return Object.fromEntries(interfaces.flatMap(({ name, alias }) => (name && alias ? [[name, alias]] : [])))
}

/** The object of the server-side apply: spec and labels. */
export function appliedObject(
  node: RequestedNode,
  { providerId, providerName }: Pick<PlanContext, 'providerId' | 'providerName'>,
  existing?: NodeConfig,
) {
  const instanceId = node.instanceId ?? (existing?.spec.instanceId ? '' : undefined)
  return {
    metadata: { name: node.objectName, labels: node.labels },
    spec: {
      providerId,
      ...(providerName ? { providerName } : {}),
      nodeName: node.nodeName,
      // An omitted field would keep the value of another field manager; an empty one replaces it.
      ...(instanceId === undefined ? {} : { instanceId }),
      ...(node.instanceName ? { instanceName: node.instanceName } : {}),
      specHash: node.specHash,
      interfaces: node.interfaces.map(toWireInterface),
    },
  }
}

const cache = new WeakMap<NodeConfig, ViolaNode>()

/**
 * An object as the API returns it. The hash is computed from the spec, because `spec.specHash` is stale after a manual edit.
 */
export function toViolaNode(existing: NodeConfig): ViolaNode {
  const cached = cache.get(existing)
  if (cached) return cached
  const { spec, metadata } = existing
  const interfaces = fromWireInterfaces(spec.interfaces)
  // The CRD of the Go implementation accepts invalid interfaces. Callers get the valid ones; the hash covers all.
  // A complete list is reused, so that thousands of objects share their interfaces with the cache.
  const wire = areComplete(spec.interfaces) ? spec.interfaces : interfaces.map(toWireInterface)
  const valid = wire.filter(nic => interfaceSchema.safeParse(nic).success)
  const { status } = existing
  const node: ViolaNode = {
    nodeName: spec.nodeName,
    ...(spec.instanceId ? { instanceId: spec.instanceId } : {}),
    ...(spec.instanceName ? { instanceName: spec.instanceName } : {}),
    ...(spec.providerId ? { providerId: spec.providerId } : {}),
    specHash: specHash({ nodeName: spec.nodeName, instanceId: spec.instanceId, interfaces }),
    generation: metadata.generation ?? 0,
    interfaces: valid.length === wire.length ? wire : valid,
    ...(status && nodeConfigStatus.safeParse(status).success ? { status } : {}),
  }
  cache.set(existing, node)
  return node
}

/** A manually created object may have no provider: it belongs to all. The Go implementation sets only the label. */
export function belongsTo(existing: NodeConfig, providerId: string): boolean {
  if (existing.spec.providerId) return existing.spec.providerId === providerId
  const labelled = existing.metadata.labels?.[nodeConfigLabels.providerId]
  return labelled === undefined || labelled === labelValue(providerId)
}
