/**
 * The targets of the routing and the state of each.
 *
 * Provider to Kubernetes client: routing.ts names the route, credentials.ts reads its credentials, target-credentials.ts
 * keeps the current ones, clusters.ts keeps a cluster open for them.
 */
import { dirname } from 'node:path'
import { connectKube } from '../../kube/client.ts'
import { reload } from '../../server/reload.ts'
import type { StartCall } from '../../telemetry/client-metrics.ts'
import type { Log } from '../../telemetry/log.ts'
import { type Cluster, openCluster } from '../cluster/cluster.ts'
import type { ViolaSettings } from '../config.ts'
import { openClusters } from './clusters.ts'
import { openCredentialReader } from './credentials.ts'
import { localRoute, type Route, type Routing, routeOf, routingFrom, routingTo } from './routing.ts'
import { openTargetCredentials, type TargetAccess } from './target-credentials.ts'

export interface Targets {
  /** Runs `work` with the provider's cluster. Undefined for an unknown provider. Throws `UnusableTarget`. */
  use<T>(providerId: string, work: (cluster: Cluster) => Promise<T>): Promise<T | undefined>
  /** Name of the provider in the routing, for people. */
  nameOf(providerId: string): string | undefined
  /** State of every target of the routing. */
  states(): TargetState[]
  /** Why the current content of the routing file is invalid. */
  readonly problem: string | undefined
  warnings(): string[]
  close(): Promise<void>
}

export interface TargetState {
  name: string
  /** Why the cluster is unreachable. */
  problem: string | undefined
  /** Why its latest credentials are unusable. The previous ones may still work. */
  credentialsProblem: string | undefined
}

export interface TargetsOptions {
  settings: ViolaSettings
  log: Log
  startCall?: StartCall | undefined
  refreshMs?: number
  /** Credentials are read again after this time, because not every change shows in a file. */
  maxAgeMs?: number
}

/** Name of the default target, for providers that the routing does not list. */
const defaultTarget = 'any other provider'

export async function openTargets(options: TargetsOptions): Promise<Targets> {
  const { settings, log, startCall, refreshMs = 1_000, maxAgeMs = 10_000 } = options
  const local = localRoute(settings)
  const localRouting = routingTo(local)
  const { ROUTING_CONFIG: path } = settings
  const reader = openCredentialReader({ settings, log, startCall, base: path === undefined ? '.' : dirname(path) })
  const credentials = openTargetCredentials({ log, reader, maxAgeMs, onChange: () => clusters.closeUnused() })
  const clusters = openClusters(credentials.isCurrent)
  const parse = (content: string) => routingFrom(content, local)
  const file =
    path === undefined ? undefined : await reload<Routing>({ path, log, everyMs: refreshMs, parse, onChange })
  const routing = () => file?.value ?? localRouting

  function namedRoutes({ routes, fallback } = routing()): [name: string, route: Route][] {
    return [...routes, ...(fallback ? [[defaultTarget, fallback] as [string, Route]] : [])]
  }

  function onChange(latest: Routing): void {
    credentials.retain(new Set(namedRoutes(latest).flatMap(([name, { access }]) => (access ? [name] : []))))
    connectAll(latest)
  }

  /** Connects before the first request, so that caches are filled and /readyz shows the state of every target. */
  function connectAll(latest = routing()): void {
    for (const [name, route] of namedRoutes(latest))
      if (route.access) useTarget(name, route, async () => {}).catch(() => {})
  }

  function open({ access, namespace }: TargetAccess): Cluster {
    const { KUBE_TIMEOUT: requestTimeoutMs, VIOLA_PARALLEL: parallel } = settings
    // Few attempts: callers have a timeout of their own and retry.
    const kube = connectKube(access, { log, requestTimeoutMs, attempts: 2, maxRetryDelayMs: 1_000, startCall })
    return openCluster({ kube, namespace, parallel, log: log.with({ server: access.server }) })
  }

  async function useTarget<T>(name: string, route: Route, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    const target = await credentials.resolve(name, route)
    return clusters.use(target.key, () => open(target), work)
  }

  function stateOf([name, { unusable }]: [name: string, route: Route]): TargetState {
    const target = credentials.current(name)
    const credentialsProblem = credentials.problem(name)
    const problem = unusable ?? (target ? clusters.problem(target.key) : (credentialsProblem ?? 'not connected yet'))
    return { name, problem, credentialsProblem }
  }
  const states = () => namedRoutes().map(stateOf)

  connectAll()
  const timer = setInterval(connectAll, refreshMs).unref()
  return {
    async use(providerId, work) {
      await file?.refresh()
      const current = routing()
      const route = routeOf(current, providerId)
      return route && useTarget(current.routes.has(providerId) ? providerId : defaultTarget, route, work)
    },
    nameOf: providerId => routeOf(routing(), providerId)?.name,
    states,
    get problem() {
      return file?.problem
    },
    warnings() {
      const problems = states().flatMap(({ name, problem, credentialsProblem }) =>
        [...new Set([problem, credentialsProblem])].flatMap(one =>
          one === undefined ? [] : [`target ${name}: ${one}`],
        ),
      )
      return [...(file?.problem ? [`routing: ${file.problem}`] : []), ...routing().warnings, ...problems]
    },
    async close() {
      clearInterval(timer)
      file?.close()
      await clusters.close()
      await reader.close()
    },
  }
}
