/**
 * The inventory of a cluster, reached through its API server: its Pod, and a short-lived token of the ServiceAccount that may
 * only read. The user's own token never leaves the machine, except to the API server.
 */
import { connectKube, type KubeClient } from '../kube/client.ts'
import { isForbidden, isNotFound } from '../kube/errors.ts'
import { forwardPort, type PortForward } from '../kube/port-forward.ts'
import { pods } from '../kube/resources.ts'
import type { PodObject } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'
import { type ClusterFlags, clusterAccessOf } from './cluster.ts'
import { CliError, type Io } from './io.ts'

export interface ClusterInventory {
  /** For messages. */
  name: string
  forward(): Promise<PortForward>
  /** Valid for the inventory only, for ten minutes. */
  readerToken(): Promise<string>
}

const readerAccount = 'multinic-reader'
const audience = 'multinic'
/** Of the chart and of kustomize. */
const usualNamespaces = ['multinic-system', 'multinic-operator-system']
const labelSelector = 'app.kubernetes.io/part-of=multinic,app.kubernetes.io/component in (inventory,operator)'

export async function findInventory(io: Io, flags: ClusterFlags): Promise<ClusterInventory> {
  const access = await clusterAccessOf(io, flags)
  const kube = connectKube(access, { attempts: 2 })
  const namespaces = io.env['MULTINIC_NAMESPACE'] ? [io.env['MULTINIC_NAMESPACE']] : usualNamespaces
  const tried: string[] = []
  try {
    for (const namespace of namespaces) {
      const found = await podIn(kube, namespace)
      if (typeof found === 'string') {
        tried.push(`\n  ${namespace}: ${found}`)
        continue
      }
      const { pod, port } = found
      return {
        name: `Pod ${namespace}/${pod} of ${access.server}`,
        forward: () => forwardPort(access, { namespace, pod, port }),
        readerToken: () => using(connectKube(access, { attempts: 2 }), client => readerTokenOf(client, namespace)),
      }
    }
  } catch (error) {
    throw new CliError(`cannot find the inventory in the cluster: ${messageOf(error)}`, { cause: error })
  } finally {
    await kube.close()
  }
  throw new CliError(
    `no running inventory in the cluster ${access.server}${tried.join('')}\nChoose another cluster with --context NAME or another namespace with MULTINIC_NAMESPACE. If access is forbidden, bind the Role multinic-cli to your user.`,
  )
}

/** The Pod, or why there is none. */
async function podIn(kube: KubeClient, namespace: string): Promise<{ pod: string; port: number } | string> {
  try {
    const { items } = await kube.list(pods, { namespace, labelSelector })
    const found = items.flatMap(pod => {
      const port = inventoryPort(pod)
      return port === undefined ? [] : [{ pod: pod.metadata.name, port, isReady: isReady(pod) }]
    })
    const [first] = found
    if (!first) return 'no Pod of the inventory'
    return found.find(one => one.isReady) ?? `Pod ${first.pod} is not ready`
  } catch (error) {
    // A user of one namespace may not list the Pods of the other one.
    if (isForbidden(error) || isNotFound(error)) return messageOf(error)
    throw error
  }
}

function inventoryPort({ spec }: PodObject): number | undefined {
  const ports = spec.containers.flatMap(
    container => (container as { ports?: { name?: string; containerPort: number }[] }).ports ?? [],
  )
  return ports.find(({ name }) => name === 'inventory')?.containerPort
}

function isReady({ status, metadata }: PodObject): boolean {
  const ready = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')
  return ready === true && metadata.deletionTimestamp === undefined
}

async function readerTokenOf(kube: KubeClient, namespace: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${readerAccount}/token`
  const spec = { audiences: [audience], expirationSeconds: 600 }
  try {
    const { body } = await kube.raw('POST', path, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec,
    })
    return (body as { status: { token: string } }).status.token
  } catch (error) {
    throw new CliError(
      `cannot get a token of ServiceAccount ${namespace}/${readerAccount}: ${messageOf(error)}\nBind the Role multinic-cli to your user, or pass a token with --token-file FILE.`,
      { cause: error },
    )
  }
}

async function using<T>(kube: KubeClient, work: (kube: KubeClient) => Promise<T>): Promise<T> {
  try {
    return await work(kube)
  } finally {
    await kube.close()
  }
}
