/**
 * Names who edited a node config by hand: `spec.specHash`, which Viola writes, no longer matches the rest of the spec.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import type { ViolaNode } from '../contract/viola.ts'
import { type Cluster, fieldManager } from './cluster/cluster.ts'
import { toViolaNode } from './plan.ts'

/** Each needs a request to the API server. The others are named by later lists. */
const maxReads = 20

const editors = new WeakMap<NodeConfig, string>()

export async function withEditors(
  cluster: Pick<Cluster, 'fieldManagers'>,
  objects: readonly NodeConfig[],
): Promise<ViolaNode[]> {
  const unknown = objects.filter(object => isEdited(object) && !editors.has(object)).slice(0, maxReads)
  for (const object of unknown) {
    const editor = await editorOf(cluster, object.metadata.name)
    if (editor !== undefined) editors.set(object, editor)
  }
  return objects.map(object => {
    const editedBy = editors.get(object)
    return editedBy ? { ...toViolaNode(object), editedBy } : toViolaNode(object)
  })
}

function isEdited(object: NodeConfig): boolean {
  const { specHash } = object.spec
  return specHash !== undefined && specHash !== toViolaNode(object).specHash
}

/** Undefined if the cluster does not answer: the list is complete without it, and the next one asks again. */
async function editorOf(cluster: Pick<Cluster, 'fieldManagers'>, objectName: string): Promise<string | undefined> {
  const managers = await cluster.fieldManagers(objectName).catch(() => undefined)
  const others = managers?.filter(({ name, ownsSpec }) => ownsSpec && name !== fieldManager)
  return others && (others.toSorted((a, b) => (a.time < b.time ? 1 : -1))[0]?.name ?? '')
}
