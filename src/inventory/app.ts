/**
 * The inventory over HTTP: reads, search, history, an event stream of changes, and writes of a remote operator.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { type AuditWrite, auditPath, auditWrite } from '../contract/audit.ts'
import { deviationsOf } from '../contract/deviations.ts'
import type { FieldError } from '../contract/interfaces.ts'
import {
  type Deviation,
  type InventoryRecord,
  type InventoryWrite,
  inventoryWrite,
  maxWrites,
  providerRecordsPath,
  recordsPath,
  sessionPath,
  writeTimeoutMs,
} from '../contract/inventory.ts'
import type { Route } from '../contract/openapi.ts'
import {
  maxVerdictsPerPage,
  maxVerdictsPerWrite,
  storedPlansPath,
  type VerdictWrite,
  verdictsPath,
  verdictWrite,
} from '../contract/operator-api.ts'
import { fieldErrors, longListIn, maxErrors, summaryOf } from '../contract/problem.ts'
import { type Access, type Caller, providerRight } from '../server/access.ts'
import type { Certificates } from '../server/certificates.ts'
import { eventStreams } from '../server/event-stream.ts'
import { limitAddresses } from '../server/rate-limit.ts'
import { type Handler, isNotModified, nextLink, serveApi } from '../server/routes.ts'
import { createApp, HttpProblem } from '../server/server.ts'
import { sessionHandlers } from '../server/session.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics, type Metrics } from '../telemetry/metrics.ts'
import { readRight, verdictsRight } from './access.ts'
import { interfacesPath, inventoryApi, inventoryPath, maxEntries, maxId, maxPageSize, rootPath } from './api.ts'
import { sendAudit } from './audit-answer.ts'
import { createChangeFeed } from './change-feed.ts'
import { csvOf } from './csv.ts'
import { serveDashboard } from './dashboard.ts'
import {
  auditFilterFrom,
  cursorOf,
  cursorOfVerdict,
  filterFrom,
  integerValue,
  optionalValue,
  paramsOf,
  queryValues,
  singleProvider,
  timeValue,
  verdictFilterFrom,
} from './query.ts'
import { withRemedies } from './rows.ts'
import type { Store } from './store.ts'
import { csvChunks, jsonChunks, startStream } from './streaming.ts'
import { createWriterAudit } from './writer-audit.ts'

export interface InventoryAppOptions {
  store: Store
  access: Access
  log: Log
  metrics?: Metrics<'inventory'>
  /** Directory of the bundled dashboard. Default: next to the program, or `dist/web` of a checkout. */
  webDir?: string | undefined
  /** Requests per second from one address. 0: no limit. */
  rateLimit?: number
  certificates?: Certificates | undefined
  /** A write that begins later than this after its request is refused. */
  maxWriteWaitMs?: number
  now?: () => Date
}

/** No list of a record is longer: interfaces, their addresses and their routes. */
const maxListLength = 100
/** Each page of the dashboard has one, and each `multinic` command that watches. */
const maxStreams = { perCaller: 20, inTotal: 500 }

export function createInventoryApp({
  store,
  access,
  log,
  metrics = createMetrics('inventory', { process: true }),
  webDir,
  rateLimit = 0,
  certificates,
  // With time for the request to arrive.
  maxWriteWaitMs = writeTimeoutMs - 5_000,
  now = () => new Date(),
}: InventoryAppOptions): FastifyInstance {
  const app = createApp({
    log,
    metrics: { ...metrics, text: metricsText },
    ready: () => (store.problem() === undefined ? [] : [`database: ${store.problem()}`]),
    warnings: () => [...access.warnings(), ...writeWarnings()],
    api: inventoryApi,
    certificates,
  })
  /** A database that cannot be reached has its own message. */
  function writeWarnings(): string[] {
    const problem = store.problem() === undefined ? store.writeProblem() : undefined
    return problem === undefined ? [] : [`database: writes fail and are answered with 503: ${problem}`]
  }
  function metricsText(): Promise<string> {
    metrics.set('multinic_inventory_database_up', Number(store.problem() === undefined))
    metrics.set('multinic_inventory_database_writable', Number(store.writeProblem() === undefined))
    return metrics.text()
  }
  if (rateLimit > 0) limitAddresses(app, rateLimit)
  const streams = eventStreams(app, maxStreams)
  const feed = createChangeFeed(store, log)
  const callers = new WeakMap<FastifyRequest, Caller>()
  const writers = createWriterAudit(now)

  /** A caller for all providers is one review; any other caller needs the right on each provider of the records. */
  async function requireWrite(caller: Caller, records: readonly { providerId: string }[]): Promise<void> {
    const all = providerRight('update')
    if (records.length === 0) return access.requireKnown(caller, all)
    if (await access.allowsKnown(caller, all)) return
    for (const id of new Set(records.map(({ providerId }) => providerId)))
      await access.requireKnown(caller, providerRight('update', id))
  }

  /** Whoever writes the records of a provider may list them: an operator that lost its deliveries finds them here. */
  async function requireRead(caller: Caller, path: string, request: FastifyRequest): Promise<void> {
    if (await access.allows(caller, readRight)) return
    const { providerId } = path === providerRecordsPath ? queryValues(request) : {}
    if (providerId && (await access.allowsKnown(caller, providerRight('update', providerId)))) return
    await access.require(caller, readRight)
  }

  async function authorize(
    { method, path }: Pick<Route, 'method' | 'path'>,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    const caller = await access.callerOf(request, reply, { known: method !== 'get' })
    if (path === auditPath) await access.require(caller, verdictsRight(undefined))
    else if (path === verdictsPath || path === storedPlansPath)
      await access.require(caller, verdictsRight(queryValues(request)['config']))
    else if (method === 'get') await requireRead(caller, path, request)
    callers.set(request, caller)
  }

  /** The single node of this name, now or at the time of the query. */
  async function findNode(request: FastifyRequest): Promise<InventoryRecord> {
    const { nodeName } = paramsOf(request)
    const query = queryValues(request)
    const at = timeValue(query, 'at')
    const filter = { nodeName, ...optionalValue('providerId', query) }
    const found = at === undefined ? await store.list(filter) : await store.at(at, filter)
    const providers = found.map(({ providerId }) => providerId)
    const providerId = singleProvider(nodeName, providers)
    return found.find(record => record.providerId === providerId) as InventoryRecord
  }

  /** The version of the store is the ETag of every read. */
  async function sendJson(
    request: FastifyRequest,
    reply: FastifyReply,
    body: () => Promise<unknown>,
  ): Promise<unknown> {
    if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
    return reply.type('application/json').send(`${JSON.stringify(await body())}\n`)
  }

  /** Sends each page while the next one is read. */
  async function sendPages(
    request: FastifyRequest,
    reply: FastifyReply,
    pages: AsyncGenerator<InventoryRecord[]>,
  ): Promise<unknown> {
    if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
    return reply.type('application/json').send(await startStream(jsonChunks(pages)))
  }

  const handlers: Record<string, Handler> = {
    ...sessionHandlers(access, readRight),

    [`get ${inventoryPath}`]: async (request, reply) => {
      const query = queryValues(request)
      const [limit, at] = [integerValue(query, 'limit', 1, maxPageSize), timeValue(query, 'at')]
      const filter = { ...filterFrom(query), ...(limit === undefined ? {} : { limit: limit + 1 }) }
      const isCsv = query['format'] === 'csv'
      if (isCsv && isNotModified(request, reply, await store.version())) return reply.code(304).send()
      if (isCsv) reply.header('content-disposition', 'attachment; filename="node-configs.csv"')
      if (limit === undefined && isCsv)
        return reply.type('text/csv; charset=utf-8').send(await startStream(csvChunks(store.pages(filter, at))))
      if (limit === undefined) return sendPages(request, reply, store.pages(filter, at))
      const page = async () => {
        const found = at === undefined ? await store.list(filter) : await store.at(at, filter)
        const shown = found.slice(0, limit)
        const last = shown.at(-1)
        if (last && shown.length < found.length) reply.header('link', nextLink(request.url, cursorOf(last)))
        return shown
      }
      if (isCsv) return reply.type('text/csv; charset=utf-8').send(csvOf(await page()))
      return sendJson(request, reply, async () => (await page()).map(withRemedies))
    },

    [`get ${inventoryPath}/{nodeName}`]: async (request, reply) => {
      // First: an unknown node has no version.
      const node = await findNode(request)
      return sendJson(request, reply, async () => withRemedies(node))
    },

    [`get ${inventoryPath}/{nodeName}/history`]: async (request, reply) => {
      const { nodeName } = paramsOf(request)
      const query = queryValues(request)
      const [limit = 100, before = maxId] = [
        integerValue(query, 'limit', 1, maxEntries),
        integerValue(query, 'before', 1, maxId),
      ]
      // A removed node still has a history.
      const providerId = query['providerId'] ?? singleProvider(nodeName, await store.providersOf(nodeName))
      const entries = await store.history({ providerId, nodeName, limit, before })
      if (entries.length === 0 && before === maxId) throw new HttpProblem(404, 'not found')
      return sendJson(request, reply, async () => entries)
    },

    [`get ${rootPath}/history`]: async (request, reply) => {
      const query = queryValues(request)
      const [limit = 100, before = maxId] = [
        integerValue(query, 'limit', 1, maxEntries),
        integerValue(query, 'before', 1, maxId),
      ]
      return sendJson(request, reply, () =>
        store.history({ ...optionalValue('providerId', query), ...optionalValue('nodeName', query), limit, before }),
      )
    },

    [`get ${rootPath}/search`]: async (request, reply) => {
      const query = queryValues(request)
      const { q } = query
      if (q === undefined) throw new HttpProblem(400, 'q required')
      const limit = integerValue(query, 'limit', 1, maxEntries)
      return sendJson(request, reply, () => store.find(q.trim(), limit))
    },

    [`get ${rootPath}/holders`]: async (request, reply) => {
      const { q } = queryValues(request)
      if (q === undefined) throw new HttpProblem(400, 'q required')
      return sendJson(request, reply, () => store.holders(q.trim()))
    },

    [`get ${rootPath}/deviations`]: (request, reply) =>
      sendJson(request, reply, async () => {
        const found: Deviation[] = []
        for await (const page of store.pages(optionalValue('providerId', queryValues(request))))
          found.push(...page.flatMap(deviationsOf))
        return found
      }),

    [`get ${rootPath}/events`]: async (request, reply) => {
      const header = request.headers['last-event-id']
      const query = { ...queryValues(request), ...(typeof header === 'string' ? { after: header } : {}) }
      const after = integerValue(query, 'after', 0, maxId)
      const { by, user } = callers.get(request) as Caller
      const caller = by === 'anonymous' ? request.ip : user
      const open = () =>
        streams.open(reply, () => authorize({ method: 'get', path: `${rootPath}/events` }, request, reply), caller)
      await feed.follow(open, { after, ...optionalValue('providerId', query) })
    },

    [`put ${recordsPath}`]: async (request, reply) => {
      const { records, verdicts, audit = [] } = writesFrom(request.body)
      const caller = callers.get(request) as Caller
      const written = [...records, ...(verdicts ?? [])]
      await requireWrite(caller, [...written, ...audit])
      // The caller may have sent a newer record since: this one must not replace it.
      const requireWaiting = () => {
        if (reply.elapsedTime > maxWriteWaitMs) throw new HttpProblem(503, 'the write waited too long; send it again')
      }
      const own = writers.entriesOf(caller.user, written)
      const batch = { entries: [...audit, ...own], recordedBy: caller.user }
      await store.put(records, verdicts, { requireWaiting, audit: batch })
      writers.noteStored(own)
      for (const entry of own) log.info('audit', entry)
      metrics.count('multinic_inventory_writes_total', records.length)
      return verdicts ? { verdicts: verdicts.length } : reply.code(204).send()
    },

    [`get ${verdictsPath}`]: async (request, reply) => {
      const query = queryValues(request)
      const limit = integerValue(query, 'limit', 1, maxVerdictsPerPage) ?? maxVerdictsPerPage
      const filter = { ...verdictFilterFrom(query), limit: limit + 1 }
      if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
      const found = await store.verdicts(filter)
      if (!found) return reply.code(204).send()
      const page = found.slice(0, limit)
      const last = page.at(-1)
      if (last && page.length < found.length) reply.header('link', nextLink(request.url, cursorOfVerdict(last)))
      return { verdicts: page }
    },

    [`get ${storedPlansPath}`]: (request, reply) => {
      const { config } = queryValues(request)
      if (config === undefined) throw new HttpProblem(400, 'config required')
      return sendJson(request, reply, async () => ({ plans: await store.plans(config) }))
    },

    [`get ${auditPath}`]: async (request, reply) => {
      const query = queryValues(request)
      const filter = auditFilterFrom(query)
      if (isNotModified(request, reply, await store.version())) return reply.code(304).send()
      return sendAudit(reply, query['format'], await store.audit(filter))
    },

    [`get ${interfacesPath}/providers`]: (request, reply) => sendJson(request, reply, () => store.providers()),

    [`get ${providerRecordsPath}`]: async (request, reply) => {
      const { providerId } = queryValues(request)
      if (!providerId) throw new HttpProblem(400, 'providerId required')
      return sendPages(request, reply, store.pages({ providerId }))
    },

    [`get ${providerRecordsPath}/by-instance/{instanceId}`]: async (request, reply) => {
      const instanceId = paramsOf(request)['instanceId']?.trim()
      if (!instanceId) throw new HttpProblem(400, 'instanceId required')
      const found = await store.list({ instanceId, ...optionalValue('providerId', queryValues(request)) })
      if (found.length === 0) throw new HttpProblem(404, 'not found')
      return sendJson(request, reply, async () => found.map(withRemedies))
    },
  }

  // Runs before the body is read: a caller without access must not send a large one.
  serveApi(app, inventoryApi, handlers, async (route, request, reply) => {
    if (route.path !== sessionPath) await authorize(route, request, reply)
  })
  serveDashboard(app, webDir, log)
  app.addHook('onClose', async () => {
    feed.close()
    await access.close()
  })
  return app
}

interface Writes {
  records: InventoryWrite[]
  verdicts?: VerdictWrite[]
  audit?: AuditWrite[]
}

const lists = z.object({
  records: z.array(z.unknown()).max(maxWrites),
  verdicts: z.array(z.unknown()).max(maxWrites).optional(),
  audit: z.array(z.unknown()).max(maxWrites).optional(),
})

/** Validates entry by entry and stops after `maxErrors` errors. */
function writesFrom(body: unknown): Writes {
  const { records, verdicts, audit } = lists.safeParse(body).data ?? {}
  const errors: FieldError[] = []
  if (!records)
    errors.push({ path: 'records', message: `must be a list of at most ${maxWrites} records, like verdicts and audit` })
  function valid<T>(name: keyof Writes, entries: readonly unknown[], schema: z.ZodType<T>, maxLength: number): T[] {
    const found: T[] = []
    for (const [position, entry] of entries.entries()) {
      if (errors.length >= maxErrors) break
      const tooLong = longListIn(entry, maxLength, [name, position])
      const parsed = tooLong ? undefined : schema.safeParse(entry)
      if (tooLong) errors.push(tooLong)
      else if (parsed?.success) found.push(parsed.data)
      else if (parsed) errors.push(...fieldErrors(parsed.error, `${name}[${position}]`))
    }
    return found
  }
  const writes = {
    records: valid('records', records ?? [], inventoryWrite, maxListLength),
    ...(verdicts && { verdicts: valid('verdicts', verdicts, verdictWrite, maxVerdictsPerWrite) }),
    ...(audit && { audit: valid('audit', audit, auditWrite, maxListLength) }),
  }
  if (errors.length > 0)
    throw new HttpProblem(400, `invalid body: ${summaryOf(errors)}`, { errors: errors.slice(0, maxErrors) })
  return writes
}
