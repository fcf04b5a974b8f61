/**
 * The inventory of a cluster, reached through its API server: its Pod, and a short-lived token of the ServiceAccount that may
 * only read. The user's own token never leaves the machine, except to the API server.
 */
import { connectKube, type KubeClient } from '../kube/client.ts'
import { isForbidden, isNotFound } from '../kube/errors.ts'
import { forwardPort, type PortForward } from '../kube/port-forward.ts'
import { pods, secrets } from '../kube/resources.ts'
import type { PodObject } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'
import { type ClusterFlags, clusterAccessOf } from './cluster.ts'
import type { ServerIdentity } from './connection.ts'
import { CliError, type Io } from './io.ts'

export interface ClusterInventory {
  /** For messages. */
  name: string
  forward(): Promise<PortForward>
  /** Of a Pod that serves HTTPS: the CA that the user has set, or that of its Secret. */
  identity?: ((ownCa: () => Promise<string | undefined>) => Promise<ServerIdentity>) | undefined
  /** Valid for the inventory only, for ten minutes. */
  readerToken(): Promise<string>
}

const readerAccount = 'multinic-reader'
const audience = 'multinic'
const serviceName = 'multinic-inventory'
const certificateSetting = 'INVENTORY_TLS_CERT_FILE'
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
      const { pod, port, tls } = found
      const connected = <T>(work: (client: KubeClient) => Promise<T>) =>
        using(connectKube(access, { attempts: 2 }), work)
      let ca: Promise<string | undefined> | undefined
      return {
        name: `Pod ${namespace}/${pod} of ${access.server}`,
        forward: () => forwardPort(access, { namespace, pod, port }),
        readerToken: () => connected(client => readerTokenOf(client, namespace)),
        identity:
          tls &&
          (async ownCa => {
            ca ??= ownCa().then(own => own ?? connected(client => caIn(client, namespace, tls.secret)))
            const caSource = tls.secret && `ca.crt of Secret ${namespace}/${tls.secret}`
            return { servername: `${serviceName}.${namespace}`, ca: await ca, caSource }
          }),
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
async function podIn(kube: KubeClient, namespace: string): Promise<({ pod: string } & Served) | string> {
  try {
    const { items } = await kube.list(pods, { namespace, labelSelector })
    const found = items.flatMap(pod => {
      const served = servedBy(pod)
      return served ? [{ pod: pod.metadata.name, ...served, isReady: isReady(pod) }] : []
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

interface Served {
  port: number
  /** Of a port that serves HTTPS: the Secret with its certificate, if it is in one. */
  tls?: { secret: string | undefined }
}

interface Container {
  ports?: { name?: string; containerPort: number }[]
  env?: { name: string; value?: string; valueFrom?: unknown }[]
  volumeMounts?: { name: string; mountPath: string }[]
}

/** By the Pod, not by its Service: while a rollout turns HTTPS on, there are Pods with and without it. */
function servedBy({ spec }: PodObject): Served | undefined {
  const { containers, volumes = [] } = spec as { containers: Container[]; volumes?: Volume[] }
  for (const { ports = [], env = [], volumeMounts = [] } of containers) {
    const port = ports.find(({ name }) => name === 'inventory')?.containerPort
    if (port === undefined) continue
    const { value: file, valueFrom } = env.findLast(({ name }) => name === certificateSetting) ?? {}
    if (!file && !valueFrom) return { port }
    const mount = volumeMounts.find(({ mountPath }) => file?.startsWith(`${mountPath}/`))
    const volume = volumes.find(({ name }) => name === mount?.name)
    return { port, tls: { secret: volume?.secret?.secretName } }
  }
  return undefined
}

interface Volume {
  name: string
  secret?: { secretName?: string }
}

/** Undefined if the user may not read the Secret, which also has the private key: then the CAs of the system apply. */
async function caIn(kube: KubeClient, namespace: string, name: string | undefined): Promise<string | undefined> {
  if (name === undefined) return undefined
  try {
    const ca = (await kube.get(secrets, { namespace, name }))?.data?.['ca.crt']
    return ca && Buffer.from(ca, 'base64').toString('utf8')
  } catch (error) {
    if (isForbidden(error)) return undefined
    throw error
  }
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
