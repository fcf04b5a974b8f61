/**
 * The clusters behind the routing: which one is a provider's, and how each of them is.
 */
import { dirname } from 'node:path'
import { connectKube } from '../../kube/client.ts'
import { reload } from '../../server/reload.ts'
import type { Log } from '../../telemetry/log.ts'
import { clusterAccess, connectLocal, markOf, openSecrets } from './credentials.ts'
import { openClusters } from './clusters.ts'
import type { ViolaSettings } from '../config.ts'
import { type Door, openDoors } from './target-credentials.ts'
import { type Cluster, openCluster } from '../cluster/cluster.ts'
import { localRoute, type Route, type Routing, routeOf, routingFrom, routingTo } from './routing.ts'

export interface Targets {
  /** Lends the cluster of a provider to `work`; undefined when the provider is unknown. Throws `Unroutable`. */
  use<T>(providerId: string, work: (cluster: Cluster) => Promise<T>): Promise<T | undefined>
  /** How each cluster is that the routing names. */
  states(): TargetState[]
  /** What is wrong with the routing file as it is now. */
  readonly problem: string | undefined
  warnings(): string[]
  close(): Promise<void>
}

export interface TargetState {
  name: string
  /** Why the cluster cannot be spoken to. */
  trouble: string | undefined
  /** Why its newest credentials cannot be used; older ones may serve meanwhile. */
  credentials: string | undefined
}

export interface TargetsOptions {
  settings: ViolaSettings
  log: Log
  refreshMs?: number
  /** How old what is known of credentials may be where no file tells of a change. */
  freshMs?: number
}

/** Whoever the routing does not list. */
const anyOther = 'any other provider'

export async function openTargets(options: TargetsOptions): Promise<Targets> {
  const { settings, log, refreshMs = 1_000, freshMs = 10_000 } = options
  const local = localRoute(settings)
  const alone = routingTo(local)
  const { ROUTING_CONFIG: path } = settings
  const base = path === undefined ? '.' : dirname(path)
  const secrets = openSecrets(() => connectLocal(settings, log))
  const doors = openDoors({
    log,
    freshMs,
    read: access => (access.by === 'secret' ? secrets.access(access) : clusterAccess(access, base, settings)),
    markOf: async access => (access.by === 'secret' ? '' : markOf(access, base)),
    onChange: () => clusters.sweep(),
  })
  const clusters = openClusters(doors.leadsTo)
  const parse = (content: string) => routingFrom(content, local)
  const file =
    path === undefined ? undefined : await reload<Routing>({ path, log, everyMs: refreshMs, parse, onChange })
  const routing = () => file?.value ?? alone

  function namedRoutes({ routes, fallback } = routing()): [name: string, route: Route][] {
    return [...routes, ...(fallback ? [[anyOther, fallback] as [string, Route]] : [])]
  }

  function onChange(now: Routing): void {
    doors.keep(new Set(namedRoutes(now).flatMap(([name, { access }]) => (access ? [name] : []))))
    look(now)
  }

  /** Copies are made before anybody asks, and /readyz knows how each target is. */
  function look(now = routing()): void {
    for (const [name, route] of namedRoutes(now)) if (route.access) inRoute(name, route, async () => {}).catch(() => {})
  }

  function open({ access, namespace }: Door): Cluster {
    const { KUBE_TIMEOUT: requestTimeoutMs, VIOLA_PARALLEL: parallel } = settings
    // Whoever asks has a time limit too: a dead cluster is better told than tried again and again.
    const kube = connectKube(access, { log, requestTimeoutMs, attempts: 2, maxRetryDelayMs: 1_000 })
    return openCluster({ kube, namespace, parallel, log: log.with({ server: access.server }) })
  }

  async function inRoute<T>(name: string, route: Route, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const door = await doors.to(name, route)
    return clusters.use(door.key, () => open(door), work)
  }

  function stateOf([name, { unusable }]: [name: string, route: Route]): TargetState {
    const door = doors.known(name)
    const credentials = doors.problem(name)
    const trouble = unusable ?? (door ? clusters.trouble(door.key) : (credentials ?? 'not asked yet'))
    return { name, trouble, credentials }
  }
  const states = () => namedRoutes().map(stateOf)

  look()
  const timer = setInterval(look, refreshMs).unref()
  return {
    async use(providerId, work) {
      await file?.refresh()
      const now = routing()
      const route = routeOf(now, providerId)
      return route && inRoute(now.routes.has(providerId) ? providerId : anyOther, route, work)
    },
    states,
    get problem() {
      return file?.problem
    },
    warnings() {
      const troubles = states().flatMap(({ name, trouble, credentials }) =>
        [...new Set([trouble, credentials])].flatMap(one => (one === undefined ? [] : [`target ${name}: ${one}`])),
      )
      return [...(file?.problem ? [`routing: ${file.problem}`] : []), ...routing().warnings, ...troubles]
    },
    async close() {
      clearInterval(timer)
      file?.close()
      await clusters.close()
      await secrets.close()
    },
  }
}
