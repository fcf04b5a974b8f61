/**
 * Pods that use an interface of their node by a NetworkAttachmentDefinition: a new name would give the next Pod another
 * network.
 */
import { isSameMachine } from '../contract/machine.ts'
import type { KubeClient } from '../kube/client.ts'
import { isNotFound } from '../kube/errors.ts'
import { networkAttachments, nodes, pods } from '../kube/resources.ts'
import type { PodObject } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'

export interface CheckedNode {
  /** namespace/name of its Pods by the name of the interface. */
  usersOf: (name: string) => string[]
  /** Why the Pods were not read. */
  notChecked?: string
}

/** What Multus attached to a Pod. */
export const statusAnnotation = 'k8s.v1.cni.cncf.io/network-status'
const requestAnnotation = 'k8s.v1.cni.cncf.io/networks'

/** Of nodes by their VM. */
export async function podNetworks(
  kube: KubeClient,
  vms: readonly { nodeName: string; instanceId: string }[],
): Promise<Map<string, CheckedNode>> {
  const { items: all } = await kube.list(nodes)
  const uses = await interfacesOfNetworks(kube)
  const checked = new Map<string, CheckedNode>()
  for (const { nodeName, instanceId } of vms) {
    const node = all.find(({ status }) => isSameMachine(status?.nodeInfo?.systemUUID ?? '', instanceId))
    checked.set(nodeName, node ? await podsOn(kube, node.metadata.name, uses) : unchecked('not a Node of this cluster'))
  }
  return checked
}

export function unchecked(why: string): CheckedNode {
  return { usersOf: () => [], notChecked: why }
}

async function podsOn(kube: KubeClient, node: string, uses: UsesInterface): Promise<CheckedNode> {
  try {
    const { items } = await kube.list(pods, { fieldSelector: `spec.nodeName=${node}` })
    const live = items.filter(({ spec, status }) => spec.nodeName === node && !hasEnded(status?.phase))
    const users = live.map(pod => ({ pod, networks: networksOf(pod) }))
    return {
      usersOf: name =>
        users
          .filter(({ networks }) => networks.some(network => uses(network, name)))
          .map(({ pod: { metadata } }) => `${metadata.namespace}/${metadata.name}`),
    }
  } catch (error) {
    return unchecked(messageOf(error))
  }
}

function hasEnded(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed'
}

/** Whether a plugin of a network, by namespace/name, uses the interface. */
type UsesInterface = (network: string, name: string) => boolean

async function interfacesOfNetworks(kube: KubeClient): Promise<UsesInterface> {
  const { items } = await kube.list(networkAttachments).catch(error => {
    // Without Multus there are none.
    if (isNotFound(error)) return { items: [] }
    throw error
  })
  const known = new Map(
    items.map(({ metadata, spec }) => [`${metadata.namespace}/${metadata.name}`, mastersIn(spec?.config)]),
  )
  return (network, name) => {
    if (!known.has(network)) return false
    // A configuration in a file of the node, or a broken one, may use any interface.
    return known.get(network)?.includes(name) ?? true
  }
}

/** The devices that a CNI configuration uses, of one plugin or of a list. Undefined for a text that is no configuration. */
export function mastersIn(config = ''): string[] | undefined {
  const found = jsonIn(config) as (Plugin & { plugins?: unknown }) | null | undefined
  if (typeof found !== 'object') return undefined
  const plugins: (Plugin | null)[] = Array.isArray(found?.plugins) ? found.plugins : []
  return [found, ...plugins]
    .flatMap(plugin => [plugin?.master, plugin?.device])
    .filter(name => typeof name === 'string')
}

interface Plugin {
  master?: unknown
  device?: unknown
}

/** What Multus attached, and what the Pod asks for. */
function networksOf({ metadata: { annotations = {}, namespace } }: PodObject): string[] {
  const listed = (annotation: string) => {
    const text = annotations[annotation] ?? ''
    const found = jsonIn(text)
    if (Array.isArray(found)) return found as ({ name?: unknown; namespace?: unknown } | null)[]
    return text.split(',').map(part => ({ name: part.trim().split('@')[0] ?? '', namespace: undefined }))
  }
  return [statusAnnotation, requestAnnotation].flatMap(listed).flatMap(network => {
    const { name, namespace: own } = network ?? {}
    if (typeof name !== 'string' || name === '') return []
    return [name.includes('/') ? name : `${typeof own === 'string' ? own : namespace}/${name}`]
  })
}

/** Undefined for a text that is not JSON. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
