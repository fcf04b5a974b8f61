/**
 * `--selector`: Nodes by their labels, as in kubectl. The API server of the kubeconfig evaluates the selector.
 */
import { spellingsOf } from '../contract/machine.ts'
import type { KubeClient } from '../kube/client.ts'
import { isForbidden } from '../kube/errors.ts'
import { nodes } from '../kube/resources.ts'
import type { NodeObject } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'
import { type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Io } from './io.ts'

export async function nodesWith(kube: KubeClient, labelSelector: string): Promise<NodeObject[]> {
  try {
    const { items } = await kube.list(nodes, { labelSelector })
    if (items.length === 0) throw new CliError(`no Node has the labels ${labelSelector}`)
    return items
  } catch (error) {
    if (error instanceof CliError) throw error
    const hint = isForbidden(error) ? '\nYour user needs the right to list nodes.' : ''
    throw new CliError(`--selector ${labelSelector}: ${messageOf(error)}${hint}`, { cause: error })
  }
}

/**
 * Whether the Node of a VM has the labels. A VM is recognized by its SystemUUID, because names repeat in the clusters of one
 * inventory.
 */
export async function vmSelection(io: Io, flags: ClusterFlags, selector: string): Promise<(vm: string) => boolean> {
  const found = await withCluster(io, flags, ({ kube }) => nodesWith(kube, selector))
  const machines = new Set(found.flatMap(({ status }) => spellingsOf(status?.nodeInfo?.systemUUID ?? '')))
  return vm => spellingsOf(vm).some(spelling => machines.has(spelling))
}
