/**
 * The clusters behind the routing: which one is a provider's, and how each of them is.
 */
import { dirname } from 'node:path'
import { messageOf } from '../errors.ts'
import { connectKube } from '../kube/client.ts'
import type { Log } from '../log.ts'
import { reload } from '../reload.ts'
import { clusterAccess, connectLocal, localRoute, markOf } from './access.ts'
import { openClusters } from './clusters.ts'
import type { ViolaSettings } from './config.ts'
import { type Cluster, openCluster } from './observe.ts'
import { type Access, type Route, type Routing, routeOf, routingFrom, routingTo } from './routing.ts'
import { openSecrets } from './secrets.ts'

export interface Targets {
  /** Lends the cluster of a provider to `work`; undefined when the provider is unknown. Throws `Unroutable`. */
  use<T>(providerId: string, work: (cluster: Cluster) => Promise<T>): Promise<T | undefined>
  /** How each cluster is that the routing names. */
  states(): { name: string; trouble: string | undefined }[]
  /** What is wrong with the routing file as it is now. */
  readonly problem: string | undefined
  warnings(): string[]
  close(): Promise<void>
}

/** The provider is known, its cluster cannot be spoken to as the routing says. */
export class Unroutable extends Error {}

export interface TargetsOptions {
  settings: ViolaSettings
  log: Log
  refreshMs?: number
  /** How old what is known of a Secret may be. */
  secretMs?: number
}

export async function openTargets(options: TargetsOptions): Promise<Targets> {
  const { settings, log, refreshMs = 1_000, secretMs = 10_000 } = options
  const local = localRoute(settings)
  const alone = routingTo(local)
  const { ROUTING_CONFIG: path } = settings
  const base = path === undefined ? '.' : dirname(path)
  const clusters = openClusters()
  const secrets = openSecrets(() => connectLocal(settings, log), secretMs)
  const parse = (content: string) => routingFrom(content, local)
  const file =
    path === undefined ? undefined : await reload<Routing>({ path, log, everyMs: refreshMs, parse, onChange })
  const routing = () => file?.value ?? alone

  function namedRoutes({ routes, fallback } = routing()): [name: string, route: Route][] {
    return [...routes, ...(fallback ? [['any other provider', fallback] as [string, Route]] : [])]
  }

  function onChange(now: Routing): void {
    clusters.keep(new Set(namedRoutes(now).map(([, route]) => keyOf(route))))
    warm(now)
  }

  /** Copies are made before anybody asks, and /readyz knows how each cluster is. */
  function warm(now: Routing): void {
    for (const [, route] of namedRoutes(now)) if (route.access) inRoute(route, async () => {}).catch(() => {})
  }

  async function make(access: Access, namespace: string): Promise<Cluster> {
    const asked = access.by === 'secret' ? secrets.access(access) : clusterAccess(access, base, settings)
    const found = await asked.catch(error => {
      throw new Unroutable(messageOf(error))
    })
    const { KUBE_TIMEOUT: requestTimeoutMs } = settings
    // Whoever asks has a time limit too: a dead cluster is better told than tried again and again.
    const kube = connectKube(found, { log, requestTimeoutMs, attempts: 2, longestWaitMs: 1_000 })
    return openCluster({ kube, namespace, log: log.with({ server: found.server }) })
  }

  async function inRoute<T>(route: Route, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const { access, namespace } = route
    if (!access) throw new Unroutable(route.unusable ?? 'the target names no cluster')
    const mark = await (access.by === 'secret' ? secrets.mark(access) : markOf(access, base))
    return clusters.use(keyOf(route), mark, () => make(access, namespace), work)
  }

  const states = () =>
    namedRoutes().map(([name, route]) => ({ name, trouble: route.unusable ?? clusters.trouble(keyOf(route)) }))

  warm(routing())
  return {
    async use(providerId, work) {
      await file?.refresh()
      const route = routeOf(routing(), providerId)
      return route && inRoute(route, work)
    },
    states,
    get problem() {
      return file?.problem
    },
    warnings() {
      const troubles = states().flatMap(({ name, trouble }) =>
        trouble === undefined ? [] : [`target ${name}: ${trouble}`],
      )
      return [...(file?.problem ? [`routing: ${file.problem}`] : []), ...routing().warnings, ...troubles]
    },
    async close() {
      file?.close()
      await clusters.close()
      await secrets.close()
    },
  }
}

function keyOf({ access, namespace }: Route): string {
  return JSON.stringify([access, namespace])
}
