/**
 * The clusters behind the routing: one client and one copy of the node configs for each, kept as long as a route needs
 * it, and exchanged without dropping a request when the routing changes.
 */
import { readFile, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { explain, messageOf } from '../errors.ts'
import { connectKube } from '../kube/client.ts'
import { type ClusterAccess, inClusterAccess, loadKubeconfig, tokenFromFile } from '../kube/config.ts'
import type { Log } from '../log.ts'
import { reload } from '../reload.ts'
import type { ViolaSettings } from './config.ts'
import { type Cluster, openCluster } from './observe.ts'
import { type Access, type Route, type Routing, routeOf, routingFrom, routingTo } from './routing.ts'

export interface Targets {
  /** Lends the cluster of a provider to `work`; undefined when the provider is unknown. Throws `Unroutable`. */
  use<T>(providerId: string, work: (cluster: Cluster) => Promise<T>): Promise<T | undefined>
  warnings(): string[]
  close(): Promise<void>
}

/** The provider is known, its cluster cannot be spoken to as the routing says. */
export class Unroutable extends Error {}

export interface TargetsOptions {
  settings: ViolaSettings
  log: Log
  refreshMs?: number
}

interface Open {
  cluster: Promise<Cluster>
  /** The state of the files that it was made from. */
  mark: string
  users: number
  retired: boolean
}

export async function openTargets({ settings, log, refreshMs = 1_000 }: TargetsOptions): Promise<Targets> {
  const local = localRoute(settings)
  const { ROUTING_CONFIG: path } = settings
  const file =
    path === undefined
      ? undefined
      : await reload<Routing>({ path, log, everyMs: refreshMs, parse: content => routingFrom(content, local) })
  const base = path === undefined ? '.' : dirname(path)
  const alone = routingTo(local)
  const routing = () => file?.value ?? alone
  const open = new Map<string, Open>()

  async function lend(route: Route): Promise<Open> {
    if (!route.access) throw new Unroutable(route.unusable ?? 'the target names no cluster')
    const access = route.access
    const key = JSON.stringify([access, route.namespace])
    const mark = await markOf(access, base)
    const known = open.get(key)
    if (known && known.mark === mark) return known
    if (known) retire(key, known)
    const cluster = clusterAccess(access, base, settings).then(found =>
      openCluster({
        kube: connectKube(found, { log, requestTimeoutMs: settings.KUBE_TIMEOUT }),
        namespace: route.namespace,
        log: log.with({ server: found.server }),
      }),
    )
    const made: Open = { cluster, mark, users: 0, retired: false }
    // The credentials may be there the next time.
    cluster.catch(() => open.get(key) === made && open.delete(key))
    open.set(key, made)
    return made
  }

  function retire(key: string, one: Open): void {
    open.delete(key)
    one.retired = true
    if (one.users === 0) shut(one)
  }

  function shut(one: Open): void {
    one.cluster.then(
      cluster => cluster.close(),
      () => {},
    )
  }

  /** Clusters that no route names any more are let go. */
  function sweep(): void {
    const { routes, fallback } = routing()
    const named = [...routes.values(), ...(fallback ? [fallback] : [])]
    const wanted = new Set(named.map(({ access, namespace }) => JSON.stringify([access, namespace])))
    for (const [key, one] of open) if (!wanted.has(key)) retire(key, one)
  }

  return {
    async use(providerId, work) {
      await file?.refresh()
      sweep()
      const route = routeOf(routing(), providerId)
      if (!route) return undefined
      const lent = await lend(route)
      lent.users++
      try {
        return await work(await lent.cluster.catch(error => Promise.reject(new Unroutable(messageOf(error)))))
      } finally {
        lent.users--
        if (lent.retired && lent.users === 0) shut(lent)
      }
    },
    warnings() {
      const { routes, warnings } = routing()
      const unusable = [...routes].flatMap(([id, route]) => (route.unusable ? [`target ${id}: ${route.unusable}`] : []))
      return [...(file?.problem ? [`routing: ${file.problem}`] : []), ...warnings, ...unusable]
    },
    async close() {
      file?.close()
      const all = [...open.values()]
      open.clear()
      await Promise.allSettled(all.map(async one => (await one.cluster).close()))
    },
  }
}

/** The cluster that everybody is in when nothing else is said. */
function localRoute(settings: ViolaSettings): Route {
  const { KUBE_API_SERVER: server, KUBE_TOKEN: token, KUBE_TOKEN_FILE: tokenFile, KUBE_CA_PATH: caPath } = settings
  const namespace = settings.TARGET_NAMESPACE
  if (server || token || tokenFile || caPath)
    return {
      namespace,
      access: {
        by: 'server',
        ...(server && { server }),
        ...(token && { token }),
        ...(tokenFile && { tokenFile }),
        ...(caPath && { caPath }),
      },
    }
  if (settings.KUBECONFIG) return { namespace, access: { by: 'kubeconfig', path: settings.KUBECONFIG } }
  return { namespace, access: { by: 'pod' } }
}

async function clusterAccess(access: Access, base: string, settings: ViolaSettings): Promise<ClusterAccess> {
  if (access.by === 'kubeconfig') return loadKubeconfig(resolve(base, access.path), access.context)
  if (access.by === 'pod') return inClusterAccess(settings)

  // What is left out comes from the Pod that we run in, as it always did.
  const pod = access.server && (access.token || access.tokenFile) ? undefined : podAccess(settings)
  const server = access.server ?? pod?.server
  if (!server) throw new Error('kubeApiServer is missing')
  const ca = access.caPath ? await readCa(resolve(base, access.caPath)) : pod?.ca
  const given = access.token
  const token = access.tokenFile ? tokenFromFile(resolve(base, access.tokenFile)) : given ? () => given : pod?.token
  if (!token) throw new Error('kubeToken or kubeTokenFile is missing')
  return { server: server.replace(/\/+$/, ''), token, ...(ca && { ca }) }
}

function podAccess(settings: ViolaSettings): ClusterAccess | undefined {
  try {
    return inClusterAccess(settings)
  } catch {
    return undefined
  }
}

async function readCa(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw explain('kubeCaPath', error)
  }
}

/** Changes when a file changes whose content a client is made of. Token files are read by the client itself. */
async function markOf(access: Access, base: string): Promise<string> {
  const path = access.by === 'kubeconfig' ? access.path : access.by === 'server' ? access.caPath : undefined
  if (path === undefined) return ''
  const found = await stat(resolve(base, path)).catch(() => undefined)
  return found ? `${found.ino}:${found.mtimeMs}:${found.size}` : ''
}
