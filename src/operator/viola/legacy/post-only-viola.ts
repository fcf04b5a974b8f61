/**
 * Legacy: support for a Viola that serves only the documented POST. It ends with version 1.0.
 *
 * Such a Viola cannot report what it delivered. The operator keeps one small ConfigMap for each node in its own namespace
 * instead, so that interface indexes and node names survive a restart. If they are lost with the namespace, the records of
 * the inventory replace them: new indexes would rename the NICs of every node.
 */
import { hashOf } from '../../../contract/hash.ts'
import { completeInterfaces, specHash, type WireInterface } from '../../../contract/interfaces.ts'
import type { InventoryRecord } from '../../../contract/inventory.ts'
import type { KubeObject, Resource } from '../../../contract/object.ts'
import { type ViolaNodeConfig, violaNodeConfig } from '../../../contract/viola.ts'
import type { Kube } from '../../../kube/api.ts'
import { messageOf } from '../../../runtime/errors.ts'
import type { DeliveredNode } from '../../plan/observed-state.ts'
import { ViolaError } from '../../viola-error.ts'
import type { UnsharedViola } from '../delivered-list.ts'
import { type NodeToRemove, toViolaNode, type ViolaApi, type ViolaClient } from '../viola-client.ts'

export interface Target {
  endpoint: string
  providerId: string
}

export interface DeliveredStore {
  list(target: Target): Promise<DeliveredNode[]>
  put(target: Target, node: ViolaNodeConfig): Promise<void>
  remove(target: Target, nodeName: string): Promise<void>
}

export interface StoredDeliveries extends DeliveredStore {
  /** Of this provider, at any address. */
  listOf(providerId: string): Promise<DeliveredNode[]>
}

/** Reads the records of a provider from the inventory. */
export type ReadRecords = (providerId: string) => Promise<readonly InventoryRecord[]>

interface ConfigMap extends KubeObject {
  data?: Record<string, string>
}

const configMaps: Resource<ConfigMap> = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
}
const label = 'multinic.example.com/delivered-to'
export const deliveredPrefix = 'multinic-delivered-'
const fieldManager = 'multinic-operator'

export function createDeliveredStore(
  kube: Pick<Kube, 'list' | 'apply' | 'delete'>,
  namespace: string,
): StoredDeliveries {
  const labelOf = (target: Target) => hashOf(target).slice(0, 32)
  const nameOf = (target: Target, nodeName: string) => `${deliveredPrefix}${hashOf([target, nodeName]).slice(0, 32)}`
  const parsed = ({ metadata, data }: ConfigMap): DeliveredNode => {
    const found = violaNodeConfig.safeParse(JSON.parse(data?.['node'] ?? 'null'))
    // A partial list would release the interface indexes of the missing nodes.
    if (!found.success) throw new Error(`ConfigMap ${namespace}/${metadata.name}: not a delivered node config`)
    return deliveredNode(found.data)
  }
  return {
    async list(target) {
      const { items } = await kube.list(configMaps, { namespace, labelSelector: `${label}=${labelOf(target)}` })
      return items.map(parsed)
    },
    async listOf(providerId) {
      const { items } = await kube.list(configMaps, { namespace, labelSelector: label })
      return items.filter(({ data }) => data?.['providerId'] === providerId).map(parsed)
    },
    async put(target, { expectedSpecHash: _, ...node }) {
      await kube.apply(
        configMaps,
        {
          metadata: { name: nameOf(target, node.nodeName), namespace, labels: { [label]: labelOf(target) } },
          data: { viola: target.endpoint, providerId: target.providerId, node: JSON.stringify(node) },
        },
        { fieldManager, force: true },
      )
    },
    remove: (target, nodeName) => kube.delete(configMaps, { namespace, name: nameOf(target, nodeName) }),
  }
}

function deliveredNode({
  nodeName,
  instanceId,
  instanceName,
  interfaces: inputs,
}: Pick<ViolaNodeConfig, 'nodeName' | 'instanceId' | 'instanceName' | 'interfaces'>): DeliveredNode {
  const { interfaces } = completeInterfaces(inputs as WireInterface[])
  const node = { nodeName, ...(instanceId && { instanceId }), interfaces }
  return { ...node, ...(instanceName && { instanceName }), specHash: specHash(node), generation: 1 }
}

/** Adds what the Viola does not serve: a list from the store, and removal by an empty list of interfaces. */
export function withPostOnlySupport(
  viola: ViolaApi,
  store: DeliveredStore,
  target: Target,
  readRecords?: ReadRecords,
): UnsharedViola {
  let usesStore = false
  /** Nodes that only the inventory knows. Read once: from then on the store has every delivery. */
  let recorded: Map<string, DeliveredNode> | undefined

  async function listStored(): Promise<DeliveredNode[]> {
    const stored = await store.list(target)
    recorded ??= await recordedNodes({ isRequired: stored.length === 0 })
    for (const { nodeName } of stored) recorded?.delete(nodeName)
    return [...stored, ...(recorded?.values() ?? [])]
  }

  async function recordedNodes({ isRequired }: { isRequired: boolean }): Promise<typeof recorded> {
    if (!readRecords) return new Map()
    try {
      const records = (await readRecords(target.providerId)).filter(({ config }) => config.interfaces.length > 0)
      return new Map(
        records.map(({ nodeName, config }) => [nodeName, { ...deliveredNode(config), isUnconfirmed: true }]),
      )
    } catch (error) {
      if (!isRequired) return undefined
      throw new ViolaError(
        `viola: cannot list what it has, and neither can the inventory: ${messageOf(error)}. Without it, ports would get new indexes`,
        { cause: error },
      )
    }
  }

  async function removeStored(nodeName: string): Promise<void> {
    recorded?.delete(nodeName)
    await store.remove(target, nodeName)
  }

  const post: ViolaClient['post'] = async (nodes, signal, traceparent) => {
    const outcome = await viola.post(nodes, signal, traceparent)
    if (!usesStore) return outcome
    for (const node of nodes) {
      const { action } = outcome.results.get(node.nodeName) ?? { action: 'updated' }
      if (action === 'failed' || action === 'conflict') continue
      if (node.interfaces.length > 0) await store.put(target, toViolaNode(node))
      else await removeStored(node.nodeName)
    }
    return outcome
  }

  async function postEmpty(node: NodeToRemove, signal?: AbortSignal, traceparent?: string) {
    const { results } = await post([{ ...node, interfaces: [] }], signal, traceparent)
    const { action, message = '' } = results.get(node.nodeName) ?? { action: 'updated' }
    if (action === 'failed') throw new ViolaError(message)
    return action === 'conflict' ? 'conflict' : 'removed'
  }

  return {
    post,
    clusterNodes: viola.clusterNodes,
    watchClusterNodes: viola.watchClusterNodes,
    watchNodeConfigs: viola.watchNodeConfigs,
    async list(signal, known) {
      const nodes = await viola.list(signal, known)
      usesStore = nodes === 'unsupported'
      return nodes === 'unsupported' ? { nodes: await listStored(), reported: false } : { nodes, reported: true }
    },
    async remove(node, signal, traceparent) {
      const outcome = await viola.remove(node, signal, traceparent)
      if (outcome === 'unsupported') return postEmpty(node, signal, traceparent)
      if (usesStore && outcome === 'removed') await removeStored(node.nodeName)
      return outcome
    },
  }
}
