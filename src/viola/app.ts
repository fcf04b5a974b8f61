/**
 * The Viola API over HTTP: authorize, parse, choose the cluster, then observe → plan → apply → respond.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { AuditProof } from '../contract/audit.ts'
import type { NodeConfig } from '../contract/node-config.ts'
import { objectName } from '../contract/node-names.ts'
import type { Route } from '../contract/openapi.ts'
import { providerHeader, type ViolaNode, violaNodesPath, violaPath } from '../contract/viola.ts'
import { messageOf } from '../runtime/errors.ts'
import { type Access, type Caller, providerRight } from '../server/access.ts'
import type { Certificates } from '../server/certificates.ts'
import { type EventStream, eventStreams } from '../server/event-stream.ts'
import { type Handler, isNotModified, nextLink, queryOf, serveApi } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import { boundedLabel } from '../telemetry/bounded-label.ts'
import type { Facts, Log } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { parseTraceparent } from '../telemetry/trace.ts'
import { openTracer, type TraceSettings } from '../telemetry/trace-export.ts'
import { violaApi } from './api.ts'
import { applyDecisions, isUnreachable, type Outcome } from './apply.ts'
import { type Cluster, fingerprintOf } from './cluster/cluster.ts'
import { drainBeforeClose } from './drain.ts'
import { errorText } from './error-text.ts'
import { withEditors } from './hand-edits.ts'
import { belongsTo, otherOwners, planNodeConfigs, toViolaNode } from './plan.ts'
import { nodesFrom, pageOf } from './request.ts'
import { type RequestTrace, requestTrace } from './request-trace.ts'
import { responseTo } from './response.ts'
import { UnusableTarget } from './targets/target-credentials.ts'
import type { TargetState, Targets } from './targets/targets.ts'

export interface ViolaAppOptions {
  targets: Targets
  access: Access
  log: Log
  parallel: number
  certificates?: Certificates | undefined
  metrics?: Metrics<'viola'>
  tracing?: TraceSettings
  /** Maximum time of a client to send the headers and the complete request. */
  timeouts?: { headersMs: number; requestMs: number }
}

const maxProviderLabels = 500
/** Each costs a review of rights in the cluster. */
const maxKnownProviders = 100

interface Authorized {
  providerId: string
  caller: Caller
}

export function createViolaApp(options: ViolaAppOptions): FastifyInstance {
  const { targets, access, log, parallel, certificates, timeouts, tracing = {} } = options
  const { metrics = createMetrics('viola', { process: true }) } = options
  // With a default target, callers can send any provider ID.
  const labelOf = boundedLabel(maxProviderLabels)
  const tracer = openTracer(tracing, {
    component: 'viola',
    log,
    count: (outcome, spans) => metrics.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const app = createApp({
    log,
    // The Go operator sends JSON without its content type, or the content type without a body.
    anyContentType: true,
    metrics: { ...metrics, text: metricsText },
    warnings: () => [...access.warnings(), ...targets.warnings()],
    details: () => ({ targets: targets.states().map(stateDetails) }),
    api: violaApi,
    ...(timeouts && { timeouts }),
    certificates,
  })

  function metricsText(): Promise<string> {
    metrics.set('multinic_viola_routing_invalid', Number(targets.problem !== undefined))
    const [up, broken] = ['multinic_viola_target_up', 'multinic_viola_target_credentials_invalid'] as const
    for (const name of [up, broken]) metrics.forget(name)
    for (const { name: target, problem, credentialsProblem } of targets.states()) {
      metrics.set(up, Number(!problem), { target })
      metrics.set(broken, Number(!!credentialsProblem), { target })
    }
    return metrics.text()
  }

  const authorized = new WeakMap<FastifyRequest, Authorized>()
  const authorizedFor = (request: FastifyRequest) => authorized.get(request) as Authorized

  /** Runs before the body is read: only a caller with the right may send one. */
  async function authorize(
    { method }: Pick<Route, 'method'>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const providerId = String(request.headers[providerHeader] ?? '').trim()
    if (!providerId) throw new HttpProblem(400, `header ${providerHeader} required`)
    if (providerId.length > 253) throw new HttpProblem(400, `header ${providerHeader} is longer than 253 characters`)
    const caller = await access.callerOf(request, reply)
    await access.require(caller, providerRight(method === 'get' ? 'get' : 'update', providerId))
    authorized.set(request, { providerId, caller })
  }

  /** Runs `work` in the provider's cluster. */
  async function inCluster<T>({ providerId, caller }: Authorized, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    try {
      const done = await targets.use(providerId, async cluster => ({ value: await work(cluster) }))
      if (!done)
        throw new HttpProblem(404, `no cluster configured for provider ${providerId}`, {
          facts: { knownProviders: await readableProviders(caller) },
        })
      return done.value
    } catch (error) {
      if (error instanceof HttpProblem) throw error
      const status = !(error instanceof UnusableTarget) && isUnreachable(error) ? 504 : 502
      throw new HttpProblem(status, `cluster of provider ${providerId}: ${messageOf(error)}`)
    }
  }

  /** A caller learns no provider of others. */
  async function readableProviders(caller: Caller): Promise<string[]> {
    const names = targets.states().map(({ name }) => name)
    const readable: string[] = []
    for (const name of names.sort().slice(0, maxKnownProviders))
      if (await access.allows(caller, providerRight('get', name))) readable.push(name)
    return readable
  }

  async function writableProviders(caller: Caller, providerIds: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const writable = new Set<string>()
    for (const id of providerIds) if (await access.allows(caller, providerRight('update', id))) writable.add(id)
    return writable
  }

  /** The node with the name that the routing has now. That of the object is from its last write. */
  function named(node: ViolaNode, providerId: string): ViolaNode {
    const providerName = targets.nameOf(node.providerId ?? providerId)
    return providerName ? { ...node, providerName } : node
  }

  const streams = eventStreams(app)
  const openStream = (request: FastifyRequest, reply: FastifyReply) =>
    streams.open(reply, () => authorize({ method: 'get' }, request, reply))
  const handlers: Record<string, Handler> = {
    [`post ${violaPath}`]: async (request, reply) => {
      const { providerId, caller } = authorizedFor(request)
      const trace = requestTrace(tracer, request.headers['traceparent'])
      const { nodes, errors } = nodesFrom(request.body, providerId)
      if (errors.length > 0) throw new HttpProblem(400, `invalid body: ${errorText(request.body, errors)}`, { errors })
      const force = queryOf(request)['force'] === 'true'
      const outcomes = await inCluster({ providerId, caller }, async cluster => {
        const { get: existing } = await cluster.observe()
        const mayTakeOver = await writableProviders(caller, otherOwners(nodes, existing, providerId))
        const context = {
          ...{ providerId, providerName: targets.nameOf(providerId), existing },
          mayTakeOver: (id: string) => mayTakeOver.has(id),
        }
        return applyDecisions(cluster, planNodeConfigs(nodes, context), { context, parallel, force, trace })
      })
      trace?.end(providerId, outcomes.length)
      logOutcomes(caller, providerId, outcomes, trace)
      const { status, body } = responseTo(outcomes)
      const type = status === 200 ? 'application/json' : 'application/problem+json'
      return reply.code(status).type(type).send(JSON.stringify(body))
    },

    [`get ${violaPath}`]: async (request, reply) => {
      const { providerId, caller } = authorizedFor(request)
      const { nodeName, since, limit, cursor } = queryOf(request)
      return inCluster({ providerId, caller }, async cluster => {
        const isRequested = (object: NodeConfig) =>
          belongsTo(object, providerId) && (nodeName === undefined || object.spec.nodeName === nodeName)
        const objects = (await cluster.observe()).list().filter(isRequested)
        const resourceVersion = fingerprintOf(objects, targets.nameOf(providerId))
        if (isWatch(request))
          return streamChanges(cluster, openStream(request, reply), send => {
            let isSkipped = since !== undefined
            if (isSkipped) send('synced', { resourceVersion })
            const stop = cluster.subscribe(({ type, object, old }) => {
              const isConcerned = isRequested(object) || (old !== undefined && isRequested(old))
              if (isConcerned && !isSkipped) send(type, named(toViolaNode(object), providerId))
            })
            isSkipped = false
            return stop
          })
        if (isNotModified(request, reply, resourceVersion) || since === resourceVersion) return reply.code(304).send()
        const { page, next } = pageOf(objects, limit, cursor)
        if (next !== undefined) reply.header('link', nextLink(request.url, next))
        const items = (await withEditors(cluster, page)).map(node => named(node, providerId))
        return reply.type('application/json').send(JSON.stringify({ items, resourceVersion }))
      })
    },

    [`get ${violaNodesPath}`]: async (request, reply) => {
      const { providerId, caller } = authorizedFor(request)
      return inCluster({ providerId, caller }, async cluster => {
        const { items, version } = await cluster.nodes.read()
        if (isWatch(request))
          return streamChanges(cluster, openStream(request, reply), send =>
            cluster.nodes.subscribe(resourceVersion => send('version', { resourceVersion }, resourceVersion)),
          )
        if (isNotModified(request, reply, version)) return reply.code(304).send()
        return reply.type('application/json').send(JSON.stringify({ items, resourceVersion: version }))
      })
    },

    [`delete ${violaPath}/{nodeName}`]: async (request, reply) => {
      const { providerId, caller } = authorizedFor(request)
      const { nodeName = '' } = request.params as { nodeName?: string }
      const expected = queryOf(request)['expectedSpecHash']
      const deleted = await inCluster({ providerId, caller }, cluster =>
        deleteNode(cluster, { nodeName, providerId, expected }),
      )
      if (deleted) {
        const trace = parseTraceparent(request.headers['traceparent'])
        const facts = { caller: caller.user, provider: providerId, node: nodeName }
        log.info('node config deleted', { ...facts, ...(trace && { traceId: trace.traceId }) })
        log.info('audit', auditOf(caller, providerId, 'deleted', [nodeName]))
        metrics.count('multinic_viola_node_configs_total', 1, { provider: labelOf(providerId), action: 'deleted' })
      }
      return reply.code(204).send()
    },
  }

  serveApi(app, violaApi, handlers, authorize)
  drainBeforeClose(app)
  app.addHook('onClose', async () => {
    await access.close()
    await targets.close()
    await tracer.close()
  })

  /** Who changed what. Unchanged nodes are counted but not logged. */
  function logOutcomes(
    caller: Caller,
    provider: string,
    outcomes: readonly Outcome[],
    trace: RequestTrace | undefined,
  ): void {
    for (const action of ['created', 'updated', 'unchanged', 'conflict', 'failed'] as const) {
      const nodes = outcomes.filter(one => one.action === action)
      if (nodes.length === 0) continue
      metrics.count('multinic_viola_node_configs_total', nodes.length, { provider: labelOf(provider), action })
      if (action === 'unchanged') continue
      const level = action === 'failed' || action === 'conflict' ? 'warn' : 'info'
      const names = nodes.map(({ nodeName }) => nodeName)
      const facts = { caller: caller.user, provider, nodes: names, ...(trace && { traceId: trace.traceId }) }
      log[level](`node configs ${action}`, { ...facts, ...(level === 'warn' && { first: nodes[0]?.message }) })
      log.info('audit', auditOf(caller, provider, action, names))
    }
  }

  return app
}

/** The same facts as in the audit lines of the other components. */
function auditOf({ user, by }: Caller, providerId: string, outcome: string, objects: readonly string[]): Facts {
  const proof: AuditProof = by === 'anonymous' ? 'unknown' : 'authenticated'
  const action = outcome === 'deleted' ? 'node-config.delete' : 'node-config.write'
  return { action, objects, providerId, caller: user, proof, source: 'viola-api', outcome }
}

/** For /readyz. */
function stateDetails({ name, problem, credentialsProblem }: TargetState): object {
  return {
    name,
    up: problem === undefined,
    ...(problem && { trouble: problem }),
    ...(credentialsProblem && { credentials: credentialsProblem }),
  }
}

function isWatch(request: FastifyRequest): boolean {
  return queryOf(request)['watch'] === 'true' || !!request.headers.accept?.includes('text/event-stream')
}

/** Sends what there is, then every change, until the client or the server closes the stream. */
async function streamChanges(
  cluster: Cluster,
  stream: EventStream,
  subscribe: (send: EventStream['send']) => () => void,
): Promise<void> {
  cluster.released.addEventListener('abort', stream.end, { once: true })
  const stop = subscribe(stream.send)
  await new Promise(resolve => stream.done.addEventListener('abort', resolve, { once: true }))
  stop()
  cluster.released.removeEventListener('abort', stream.end)
}

/** Returns whether there was an object to delete. Objects of other providers are ignored. */
async function deleteNode(
  cluster: Cluster,
  { nodeName, providerId, expected }: { nodeName: string; providerId: string; expected: string | undefined },
): Promise<boolean> {
  const existing = await cluster.read(objectName(nodeName))
  if (!existing || existing.spec.nodeName !== nodeName || !belongsTo(existing, providerId)) return false
  const { specHash } = toViolaNode(existing)
  if (expected !== undefined && expected !== specHash)
    throw new HttpProblem(409, `node ${nodeName} has config ${specHash}, expected ${expected}`)
  if (existing.metadata.deletionTimestamp) return false
  await cluster.remove(existing)
  return true
}
