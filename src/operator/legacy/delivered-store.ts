/**
 * What was delivered, for a Viola that serves only the POST: one small ConfigMap a node in the operator's own namespace
 * stands in for what the Biz cluster cannot be asked. Numbers and names so outlive the operator.
 */
import { hashOf } from '../../contract/hash.ts'
import { completeInterfaces, specHash, type WireInterface } from '../../contract/interfaces.ts'
import type { KubeObject, Resource } from '../../contract/object.ts'
import { type ViolaNodeConfig, violaNodeConfig } from '../../contract/viola.ts'
import type { Kube } from '../../kube/api.ts'
import type { HeldNode } from '../observed-state.ts'
import type { Viola } from '../viola-client.ts'

export interface Place {
  endpoint: string
  providerId: string
}

export interface DeliveredStore {
  list(place: Place): Promise<HeldNode[]>
  put(place: Place, node: ViolaNodeConfig): Promise<void>
  remove(place: Place, nodeName: string): Promise<void>
}

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
const fieldManager = 'multinic-operator'

export function createDeliveredStore(kube: Pick<Kube, 'list' | 'apply' | 'delete'>, namespace: string): DeliveredStore {
  const markOf = (place: Place) => hashOf(place).slice(0, 32)
  const nameOf = (place: Place, nodeName: string) => `multinic-delivered-${hashOf([place, nodeName]).slice(0, 32)}`
  return {
    async list(place) {
      const { items } = await kube.list(configMaps, { namespace, labelSelector: `${label}=${markOf(place)}` })
      return items.map(({ metadata, data }) => {
        const parsed = violaNodeConfig.safeParse(JSON.parse(data?.['node'] ?? 'null'))
        // Half of what was delivered must not pass for the whole.
        if (!parsed.success) throw new Error(`ConfigMap ${namespace}/${metadata.name} is not a record of a delivery`)
        return heldFrom(parsed.data)
      })
    },
    async put(place, { expectedSpecHash: _, ...node }) {
      await kube.apply(
        configMaps,
        {
          metadata: { name: nameOf(place, node.nodeName), namespace, labels: { [label]: markOf(place) } },
          data: { viola: place.endpoint, providerId: place.providerId, node: JSON.stringify(node) },
        },
        { fieldManager, force: true },
      )
    },
    remove: (place, nodeName) => kube.delete(configMaps, { namespace, name: nameOf(place, nodeName) }),
  }
}

function heldFrom({ nodeName, instanceId, interfaces: inputs }: ViolaNodeConfig): HeldNode {
  const { interfaces } = completeInterfaces(inputs as WireInterface[])
  const node = { nodeName, ...(instanceId && { instanceId }), interfaces }
  return { ...node, specHash: specHash(node), generation: 1 }
}

/** The same Viola; what it does not tell comes from the store, which is kept up only then. */
export function withRecords(viola: Viola, store: DeliveredStore, place: Place): Viola {
  let keeps = false
  return {
    async held(signal) {
      const held = await viola.held(signal)
      keeps = !held.told
      return keeps ? { nodes: await store.list(place), told: false } : held
    },
    async post(nodes, signal, traceparent) {
      const outcome = await viola.post(nodes, signal, traceparent)
      if (!keeps) return outcome
      for (const node of nodes) {
        const { action } = outcome.results.get(node.nodeName) ?? { action: 'updated' }
        if (action === 'failed' || action === 'conflict') continue
        if (node.interfaces.length > 0) await store.put(place, node)
        else await store.remove(place, node.nodeName)
      }
      return outcome
    },
    async remove(nodeName, expectedSpecHash, signal, traceparent) {
      const outcome = await viola.remove(nodeName, expectedSpecHash, signal, traceparent)
      if (keeps && outcome === 'removed') await store.remove(place, nodeName)
      return outcome
    },
  }
}
