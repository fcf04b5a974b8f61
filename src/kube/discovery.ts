/** What the API server serves of a group, by discovery, which every account may read. */
import { explain } from '../runtime/errors.ts'
import type { KubeClient } from './client.ts'

/**
 * After the deletion of an object, discovery shows by then whether its CRD is being deleted too. Times of the API are cut to
 * seconds.
 */
export const deletionSettleMs = 2_000

export type Verbs = ReadonlyMap<string, readonly string[]>

/** Verbs by the plural of each kind. */
export async function servedVerbs(
  kube: Pick<KubeClient, 'raw'>,
  { group, version }: { group: string; version: string },
): Promise<Verbs> {
  try {
    const { body } = await kube.raw('GET', `/apis/${group}/${version}`)
    const { resources = [] } = body as { resources?: { name: string; verbs: string[] }[] }
    return new Map(resources.map(({ name, verbs }) => [name, verbs]))
  } catch (error) {
    throw explain('cannot read which kinds the API server serves', error)
  }
}

/**
 * Once a CustomResourceDefinition is being deleted, the API server lists its kind without the verb create. Undefined for a kind
 * that it does not list: an API server that starts knows no CRD yet.
 */
export function definitionState(verbs: Verbs, plural: string): 'served' | 'terminating' | undefined {
  const found = verbs.get(plural)
  return found && (found.includes('create') ? 'served' : 'terminating')
}
