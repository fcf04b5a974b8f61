/**
 * The inventory over HTTP: two older families of reads, search, history, changes as they happen, and the writes of an
 * operator elsewhere.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Deviation, type InventoryRecord, inventoryWrites, recordsPath } from '../contract/inventory.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { fieldErrors } from '../contract/problem.ts'
import { type EventStream, eventStreams } from '../server/event-stream.ts'
import { type Handler, isNotModified, nextLink, serveApi } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { interfacesPath, inventoryApi, inventoryPath, rootPath } from './api.ts'
import type { InventoryAuth } from './auth.ts'
import { begun, csvTexts, jsonTexts } from './bodies.ts'
import { csvOf } from './csv.ts'
import { serveDashboard } from './dashboard.ts'
import { deviationsOf } from './deviations.ts'
import { cursorOf, filterFrom, given, numberIn, onlyOne, paramsOf, timeIn, valuesIn } from './query.ts'
import { limitRate } from './rate-limit.ts'
import { withRemedies } from './rows.ts'
import type { Store } from './store.ts'

export interface InventoryAppOptions {
  store: Store
  auth: InventoryAuth
  log: Log
  /** Where the bundled dashboard is; found by itself when absent. */
  webDir?: string | undefined
  /** Requests a second from one address; 0 or absent means any number. */
  rateLimit?: number
}

const longestPage = 5_000
const anyId = Number.MAX_SAFE_INTEGER
const againMs = 2_000

export function createInventoryApp({ store, auth, log, webDir, rateLimit = 0 }: InventoryAppOptions): FastifyInstance {
  const metrics = createMetrics('inventory', { process: true })
  const app = createApp({
    log,
    bodyLimit: 64 * 1024 * 1024,
    metrics,
    ready: () => (store.problem() === undefined ? [] : [`database: ${store.problem()}`]),
    warnings: auth.warnings,
    openapi: openApiDocument(inventoryApi),
  })
  if (rateLimit > 0) limitRate(app, rateLimit)
  const streams = eventStreams(app)

  /** The one node of this name, now or then. */
  async function theNode(request: FastifyRequest): Promise<InventoryRecord> {
    const { nodeName } = paramsOf(request)
    const query = valuesIn(request)
    const at = timeIn(query, 'at')
    const filter = { nodeName, ...given('providerId', query) }
    const found = at === undefined ? await store.list(filter) : await store.at(at, filter)
    const providers = found.map(({ providerId }) => providerId)
    const providerId = onlyOne(nodeName, providers)
    return found.find(record => record.providerId === providerId) as InventoryRecord
  }

  /** Answers with `body` unless the caller has it already: the version of the store is the ETag of every read. */
  async function answer(request: FastifyRequest, reply: FastifyReply, body: () => Promise<unknown>): Promise<unknown> {
    if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
    return reply.type('application/json').send(`${JSON.stringify(await body())}\n`)
  }

  /** All records, however many: sent while the next are read. */
  async function answerPages(
    request: FastifyRequest,
    reply: FastifyReply,
    pages: AsyncGenerator<InventoryRecord[]>,
  ): Promise<unknown> {
    if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
    return reply.type('application/json').send(await begun(jsonTexts(pages)))
  }

  const handlers: Record<string, Handler> = {
    [`get ${inventoryPath}`]: async (request, reply) => {
      const query = valuesIn(request)
      const [limit, at] = [numberIn(query, 'limit', 1, longestPage), timeIn(query, 'at')]
      const filter = { ...filterFrom(query), ...(limit === undefined ? {} : { limit: limit + 1 }) }
      const isCsv = query['format'] === 'csv'
      if (isCsv && isNotModified(request, reply, await store.version())) return reply.code(304).send()
      if (isCsv) reply.header('content-disposition', 'attachment; filename="node-configs.csv"')
      if (limit === undefined && isCsv)
        return reply.type('text/csv; charset=utf-8').send(await begun(csvTexts(store.pages(filter, at))))
      if (limit === undefined) return answerPages(request, reply, store.pages(filter, at))
      const page = async () => {
        const found = at === undefined ? await store.list(filter) : await store.at(at, filter)
        const shown = found.slice(0, limit)
        const last = shown.at(-1)
        if (last && shown.length < found.length) reply.header('link', nextLink(request.url, cursorOf(last)))
        return shown
      }
      if (isCsv) return reply.type('text/csv; charset=utf-8').send(csvOf(await page()))
      return answer(request, reply, async () => (await page()).map(withRemedies))
    },

    [`get ${inventoryPath}/{nodeName}`]: (request, reply) =>
      answer(request, reply, async () => withRemedies(await theNode(request))),

    [`get ${inventoryPath}/{nodeName}/history`]: async (request, reply) => {
      const { nodeName } = paramsOf(request)
      const query = valuesIn(request)
      const [limit = 100, before = anyId] = [numberIn(query, 'limit', 1, 1_000), numberIn(query, 'before', 1, anyId)]
      // A node that was removed has its history still.
      const providerId = query['providerId'] ?? onlyOne(nodeName, await store.providersOf(nodeName))
      const entries = await store.history({ providerId, nodeName, limit, before })
      if (entries.length === 0 && before === anyId) throw new HttpProblem(404, 'not found')
      return answer(request, reply, async () => entries)
    },

    [`get ${rootPath}/history`]: async (request, reply) => {
      const query = valuesIn(request)
      const [limit = 100, before = anyId] = [numberIn(query, 'limit', 1, 1_000), numberIn(query, 'before', 1, anyId)]
      return answer(request, reply, () => store.history({ ...given('providerId', query), limit, before }))
    },

    [`get ${rootPath}/search`]: async (request, reply) => {
      const query = valuesIn(request)
      const { q } = query
      if (q === undefined) throw new HttpProblem(400, 'q required')
      const limit = numberIn(query, 'limit', 1, 1_000)
      return answer(request, reply, () => store.find(q.trim(), limit))
    },

    [`get ${rootPath}/deviations`]: (request, reply) =>
      answer(request, reply, async () => {
        const found: Deviation[] = []
        for await (const page of store.pages(given('providerId', valuesIn(request))))
          found.push(...page.flatMap(deviationsOf))
        return found
      }),

    [`get ${rootPath}/events`]: async (request, reply) => {
      const header = request.headers['last-event-id']
      const query = { ...valuesIn(request), ...(typeof header === 'string' ? { after: header } : {}) }
      const newest = (await store.history({ limit: 1 }))[0]?.id ?? 0
      // A number that is not there yet is of a database that was lost: who waits for it would wait for long.
      const after = Math.min(numberIn(query, 'after', 0, anyId) ?? newest, newest)
      await tellChanges(store, log, given('providerId', query), after, streams.open(reply))
    },

    [`put ${recordsPath}`]: async (request, reply) => {
      const parsed = inventoryWrites.safeParse(request.body)
      if (!parsed.success) {
        const errors = fieldErrors(parsed.error)
        throw new HttpProblem(400, `${errors.length} wrong: ${errors[0]?.path}: ${errors[0]?.message}`, errors)
      }
      await store.put(parsed.data.records)
      metrics.count('inventory_writes_total', parsed.data.records.length)
      return reply.code(204).send()
    },

    [`get ${interfacesPath}/providers`]: (request, reply) => answer(request, reply, () => store.providers()),

    [`get ${interfacesPath}/node-configs`]: async (request, reply) => {
      const { providerId } = valuesIn(request)
      if (!providerId) throw new HttpProblem(400, 'providerId required')
      return answerPages(request, reply, store.pages({ providerId }))
    },

    [`get ${interfacesPath}/node-configs/by-instance/{instanceId}`]: async (request, reply) => {
      const instanceId = paramsOf(request)['instanceId']?.trim()
      if (!instanceId) throw new HttpProblem(400, 'instanceId required')
      const found = await store.list({ instanceId, ...given('providerId', valuesIn(request)) })
      if (found.length === 0) throw new HttpProblem(404, 'not found')
      return answer(request, reply, async () => found.map(withRemedies))
    },
  }

  // Before the body is read: who may not write need not be listened to.
  serveApi(app, inventoryApi, handlers, async ({ method }, request, reply) => {
    const { authorization } = request.headers
    try {
      await (method === 'get' ? auth.mayRead(authorization) : auth.mayWrite(authorization))
    } catch (error) {
      reply.header('www-authenticate', 'Bearer')
      throw error
    }
  })
  serveDashboard(app, webDir, log)
  app.addHook('onClose', () => auth.close())
  return app
}

/** Until the reader goes: every entry of the history after `after`, in order, each with its number to resume from. */
async function tellChanges(
  store: Store,
  log: Log,
  filter: { providerId?: string },
  after: number,
  stream: EventStream,
): Promise<void> {
  let wake = () => {}
  const stop = store.follow(() => wake())
  stream.done.addEventListener('abort', () => wake(), { once: true })
  let last = after
  while (!stream.done.aborted) {
    const woken = new Promise<void>(resolve => {
      wake = resolve
    })
    try {
      const entries = await store.history({ ...filter, after: last, limit: 500 })
      for (const entry of entries) {
        stream.send(entry.what, entry, String(entry.id))
        await stream.drained()
      }
      last = entries.at(-1)?.id ?? last
      if (entries.length < 500) await woken
    } catch (error) {
      // The reader waits with us: nothing is lost, the next look starts where this one did.
      log.warn('a stream of changes waits for the database', { error })
      const later = setTimeout(wake, againMs)
      await woken
      clearTimeout(later)
    }
  }
  stop()
}
