/**
 * The Viola API over HTTP: parse, authorise, choose the cluster, then observe → plan → apply → answer.
 */
import { Server as TlsServer } from 'node:https'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { openApiDocument } from '../contract/openapi.ts'
import { summaryOf } from '../contract/problem.ts'
import { maxPostBytes, providerHeader, violaPath } from '../contract/viola.ts'
import { messageOf } from '../runtime/errors.ts'
import { type EventStream, eventStreams } from '../server/event-stream.ts'
import { type Handler, isNotModified, queryOf, serveApi } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import { type Caller, mayActFor } from '../server/tokens.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { parseTraceparent } from '../telemetry/trace.ts'
import { openTracer, type TraceSettings } from '../telemetry/trace-export.ts'
import { answerTo } from './response.ts'
import { violaApi } from './api.ts'
import { applyDecisions, isAway, type Outcome } from './apply.ts'
import type { Auth } from './auth.ts'
import { Unroutable } from './targets/target-credentials.ts'
import { drainBeforeClose } from './drain.ts'
import { objectName } from '../contract/node-names.ts'
import { type Cluster, fingerprintOf } from './cluster/cluster.ts'
import { belongsTo, heldNode, planNodeConfigs } from './plan.ts'
import { nodesFrom } from './request.ts'
import type { TargetState, Targets } from './targets/targets.ts'
import { type Certificates, certificateOf } from './tls.ts'
import { type RequestTrace, requestTrace } from './request-trace.ts'

export interface ViolaAppOptions {
  targets: Targets
  auth: Auth
  log: Log
  parallel: number
  certificates?: Certificates | undefined
  tracing?: TraceSettings
  /** How long a client may take to send its headers, and the whole of a request. */
  timeouts?: { headersMs: number; requestMs: number }
}

const mostProviders = 500

interface Admitted {
  providerId: string
  caller: Caller
}

export function createViolaApp(options: ViolaAppOptions): FastifyInstance {
  const { targets, auth, log, parallel, certificates, timeouts, tracing = {} } = options
  const metrics = createMetrics('viola', { process: true })
  const providers = new Set<string>()
  const tracer = openTracer(tracing, {
    component: 'viola',
    log,
    count: (outcome, spans) => metrics.count('multinic_trace_spans_total', spans, { outcome }),
  })
  const app = createApp({
    log,
    bodyLimit: maxPostBytes,
    metrics: { ...metrics, text: measured },
    warnings: () => [...auth.warnings(), ...(certificates?.warnings() ?? []), ...targets.warnings()],
    details: () => ({ targets: targets.states().map(toldState) }),
    openapi: openApiDocument(violaApi),
    ...(timeouts && { timeouts }),
    ...(certificates && { tls: certificates.options() }),
  })
  if (app.server instanceof TlsServer) certificates?.follow(app.server)

  function measured(): Promise<string> {
    const file = Number(targets.problem !== undefined)
    metrics.set('viola_routing_broken', file)
    const [up, broken] = ['viola_target_up', 'viola_target_credentials_broken'] as const
    for (const name of [up, broken]) metrics.forget(name)
    for (const { name: target, trouble, credentials } of targets.states()) {
      metrics.set(up, Number(!trouble), { target })
      metrics.set(broken, Number(!!credentials), { target })
    }
    return metrics.text()
  }

  // Older callers do not say that it is JSON; there is nothing else that it could be. Some say so of no body at all.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => {
    try {
      done(null, body === '' ? undefined : JSON.parse(String(body)))
    } catch (error) {
      done(new HttpProblem(400, `invalid json: ${messageOf(error)}`))
    }
  })

  async function admitted(request: FastifyRequest, reply: FastifyReply): Promise<Admitted> {
    const providerId = String(request.headers[providerHeader] ?? '').trim()
    if (!providerId) throw new HttpProblem(400, `the header ${providerHeader} is needed`)
    if (providerId.length > 253) throw new HttpProblem(400, `the header ${providerHeader} is above 253 characters`)
    reply.header('www-authenticate', 'Bearer')
    const certificate = certificateOf(request.raw.socket)
    const caller = await auth.admit({ authorization: request.headers.authorization, certificate }, providerId)
    reply.removeHeader('www-authenticate')
    return { providerId, caller }
  }

  /** Runs `work` in the provider's cluster. */
  async function inCluster<T>(providerId: string, work: (cluster: Cluster) => Promise<T>): Promise<T> {
    try {
      const done = await targets.use(providerId, async cluster => ({ value: await work(cluster) }))
      if (!done) throw new HttpProblem(404, `no cluster is known for provider ${providerId}`)
      return done.value
    } catch (error) {
      if (error instanceof HttpProblem) throw error
      const status = !(error instanceof Unroutable) && isAway(error) ? 504 : 502
      throw new HttpProblem(status, `the cluster of provider ${providerId}: ${messageOf(error)}`)
    }
  }

  const streams = eventStreams(app)
  const handlers: Record<string, Handler> = {
    [`post ${violaPath}`]: async (request, reply) => {
      const { providerId, caller } = await admitted(request, reply)
      const trace = requestTrace(tracer, request.headers['traceparent'])
      const { nodes, errors } = nodesFrom(request.body, providerId)
      if (errors.length > 0) throw new HttpProblem(400, `invalid body: ${summaryOf(errors)}`, errors)
      const force = queryOf(request)['force'] === 'true'
      const outcomes = await inCluster(providerId, async cluster => {
        const { get: held } = await cluster.observe()
        const context = { providerId, held, mayTakeFrom: (id: string) => mayActFor(caller, id) }
        return applyDecisions(cluster, planNodeConfigs(nodes, context), { context, parallel, force, trace })
      })
      trace?.end(providerId, outcomes.length)
      tell(caller, providerId, outcomes, trace)
      const { status, body } = answerTo(outcomes)
      const type = status === 200 ? 'application/json' : 'application/problem+json'
      return reply.code(status).type(type).send(JSON.stringify(body))
    },

    [`get ${violaPath}`]: async (request, reply) => {
      const { providerId } = await admitted(request, reply)
      const { nodeName, since, watch } = queryOf(request)
      if (watch === 'true' || request.headers.accept?.includes('text/event-stream'))
        return inCluster(providerId, cluster => tellChanges(cluster, providerId, nodeName, () => streams.open(reply)))
      const all = await inCluster(providerId, async cluster => (await cluster.observe()).list())
      const objects = all.filter(
        held => belongsTo(held, providerId) && (nodeName === undefined || held.spec.nodeName === nodeName),
      )
      const resourceVersion = fingerprintOf(objects)
      if (isNotModified(request, reply, resourceVersion) || since === resourceVersion) return reply.code(304).send()
      const items = objects.map(heldNode).sort((a, b) => (a.nodeName < b.nodeName ? -1 : 1))
      return reply.type('application/json').send(JSON.stringify({ items, resourceVersion }))
    },

    [`delete ${violaPath}/{nodeName}`]: async (request, reply) => {
      const { providerId, caller } = await admitted(request, reply)
      const { nodeName = '' } = request.params as { nodeName?: string }
      const expected = queryOf(request)['expectedSpecHash']
      const deleted = await inCluster(providerId, cluster => deleteNode(cluster, { nodeName, providerId, expected }))
      if (deleted) {
        const trace = parseTraceparent(request.headers['traceparent'])
        const facts = { caller: caller.name, provider: providerId, node: nodeName }
        log.info('node config deleted', { ...facts, ...(trace && { traceId: trace.traceId }) })
        metrics.count('viola_node_configs_total', 1, { provider: labelOf(providerId), action: 'deleted' })
      }
      return reply.code(204).send()
    },
  }

  serveApi(app, violaApi, handlers)
  drainBeforeClose(app)
  app.addHook('onClose', async () => {
    certificates?.close()
    await auth.close()
    await targets.close()
    await tracer.close()
  })

  /** A default target serves whatever id a caller makes up: so many get a number of their own. */
  function labelOf(provider: string): string {
    if (providers.size < mostProviders) providers.add(provider)
    return providers.has(provider) ? provider : 'other'
  }

  /** The audit log: who changed what. Callers who repeat themselves are not told of. */
  function tell(caller: Caller, provider: string, outcomes: readonly Outcome[], trace: RequestTrace | undefined): void {
    for (const action of ['created', 'updated', 'unchanged', 'conflict', 'failed'] as const) {
      const nodes = outcomes.filter(one => one.action === action)
      if (nodes.length === 0) continue
      metrics.count('viola_node_configs_total', nodes.length, { provider: labelOf(provider), action })
      if (action === 'unchanged') continue
      const level = action === 'failed' || action === 'conflict' ? 'warn' : 'info'
      const named = nodes.map(({ nodeName }) => nodeName)
      const facts = { caller: caller.name, provider, nodes: named, ...(trace && { traceId: trace.traceId }) }
      log[level](`node configs ${action}`, { ...facts, ...(level === 'warn' && { first: nodes[0]?.message }) })
    }
  }

  return app
}

function toldState({ name, trouble, credentials }: TargetState): object {
  return { name, up: trouble === undefined, ...(trouble && { trouble }), ...(credentials && { credentials }) }
}

/** Until either side is done: what the provider has, then every change of it. */
async function tellChanges(
  cluster: Cluster,
  providerId: string,
  nodeName: string | undefined,
  open: () => EventStream,
): Promise<void> {
  await cluster.observe()
  const stream = open()
  cluster.letGo.addEventListener('abort', stream.end, { once: true })
  const stop = cluster.follow(({ type, object, old }) => {
    if (nodeName !== undefined && object.spec.nodeName !== nodeName) return
    if (!belongsTo(object, providerId) && !(old && belongsTo(old, providerId))) return
    stream.send(type, heldNode(object))
  })
  await new Promise(resolve => stream.done.addEventListener('abort', resolve, { once: true }))
  stop()
  cluster.letGo.removeEventListener('abort', stream.end)
}

/** Reports whether there was something to delete. What is not this provider's is not there for it. */
async function deleteNode(
  cluster: Cluster,
  { nodeName, providerId, expected }: { nodeName: string; providerId: string; expected: string | undefined },
): Promise<boolean> {
  const held = await cluster.read(objectName(nodeName))
  if (!held || held.spec.nodeName !== nodeName || !belongsTo(held, providerId)) return false
  const { specHash } = heldNode(held)
  if (expected !== undefined && expected !== specHash)
    throw new HttpProblem(409, `the cluster holds ${specHash} for ${nodeName}; ${expected} was expected`)
  if (held.metadata.deletionTimestamp) return false
  await cluster.remove(held)
  return true
}
