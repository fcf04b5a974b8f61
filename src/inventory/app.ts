/**
 * The inventory over HTTP: two older families of reads, search, history and the writes of an operator elsewhere.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type InventoryRecord, inventoryWrites } from '../contract/inventory.ts'
import { openApiDocument } from '../contract/openapi.ts'
import { fieldErrors } from '../contract/problem.ts'
import { createApp, HttpProblem } from '../http.ts'
import type { Log } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { interfacesPath, inventoryApi, inventoryPath, recordsPath } from './api.ts'
import type { InventoryAuth } from './auth.ts'
import { withRemedies } from './rows.ts'
import type { Filter, Store } from './store.ts'

export interface InventoryAppOptions {
  store: Store
  auth: InventoryAuth
  log: Log
}

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

const longestPage = 5_000

export function createInventoryApp({ store, auth, log }: InventoryAppOptions): FastifyInstance {
  const metrics = createMetrics({ process: true })
  const app = createApp({
    log,
    bodyLimit: 64 * 1024 * 1024,
    metrics,
    warnings: auth.warnings,
    openapi: openApiDocument(inventoryApi),
  })

  /** The one node of this name, now or then. Throws 404, or 400 where the provider must be named. */
  async function theNode(request: FastifyRequest): Promise<InventoryRecord> {
    const { nodeName } = paramsOf(request)
    const { at, ...query } = queryOf(request)
    const filter = { nodeName, ...given('providerId', query['providerId']) }
    const found = at === undefined ? await store.list(filter) : await store.at(timeOf(at), filter)
    onlyOne(
      nodeName,
      found.map(({ providerId }) => providerId),
    )
    const [record] = found
    if (!record) throw new HttpProblem(404, 'not found')
    return record
  }

  const handlers: Record<string, Handler> = {
    [`get ${inventoryPath}`]: async (request, reply) => {
      const query = queryOf(request)
      const limit = numberOf('limit', query['limit'], 1, longestPage)
      const filter: Filter = {
        ...given('providerId', query['providerId']),
        ...given('nodeName', query['nodeName']),
        ...given('instanceId', query['instanceId']),
        ...given('q', query['q']),
        ...(limit === undefined ? {} : { limit: limit + 1 }),
        ...(query['cursor'] === undefined ? {} : { after: cursorFrom(query['cursor']) }),
      }
      const { at } = query
      const found = at === undefined ? await store.list(filter) : await store.at(timeOf(at), filter)
      const page = limit === undefined ? found : found.slice(0, limit)
      const last = page.at(-1)
      if (last && page.length < found.length) reply.header('link', nextLink(request.url, last))
      return json(reply, page.map(withRemedies))
    },

    [`get ${inventoryPath}/{nodeName}`]: async (request, reply) => json(reply, withRemedies(await theNode(request))),

    [`get ${inventoryPath}/{nodeName}/history`]: async (request, reply) => {
      const { nodeName } = paramsOf(request)
      const query = queryOf(request)
      const limit = numberOf('limit', query['limit'], 1, 1_000)
      const before = numberOf('before', query['before'], 1, Number.MAX_SAFE_INTEGER)
      // A node that was removed has its history still.
      const providerId = query['providerId'] ?? onlyOne(nodeName, await store.providersOf(nodeName))
      const entries = await store.history({
        providerId,
        nodeName,
        ...(limit === undefined ? {} : { limit }),
        ...(before === undefined ? {} : { before }),
      })
      if (entries.length === 0 && before === undefined) throw new HttpProblem(404, 'not found')
      return json(reply, entries)
    },

    [`put ${recordsPath}`]: async (request, reply) => {
      const parsed = inventoryWrites.safeParse(request.body)
      if (!parsed.success) {
        const errors = fieldErrors(parsed.error)
        throw new HttpProblem(400, `${errors.length} wrong: ${errors[0]?.path}: ${errors[0]?.message}`, errors)
      }
      await store.put(parsed.data.records)
      metrics.count('inventory_writes_total', 'Records that were written.', {}, parsed.data.records.length)
      return reply.code(204).send()
    },

    [`get ${interfacesPath}/providers`]: async (_request, reply) => json(reply, await store.providers()),

    [`get ${interfacesPath}/node-configs`]: async (request, reply) => {
      const { providerId } = queryOf(request)
      if (!providerId) throw new HttpProblem(400, 'providerId required')
      return json(reply, (await store.list({ providerId })).map(withRemedies))
    },

    [`get ${interfacesPath}/node-configs/by-instance/{instanceId}`]: async (request, reply) => {
      const instanceId = paramsOf(request)['instanceId']?.trim()
      if (!instanceId) throw new HttpProblem(400, 'instanceId required')
      const found = await store.list({ instanceId, ...given('providerId', queryOf(request)['providerId']) })
      if (found.length === 0) throw new HttpProblem(404, 'not found')
      return json(reply, found.map(withRemedies))
    },
  }

  for (const { method, path } of inventoryApi.routes) {
    const handler = handlers[`${method} ${path}`]
    if (!handler) throw new Error(`nothing serves ${method} ${path}`)
    app.route({
      method: method.toUpperCase(),
      url: path.replace(/\{(\w+)\}/g, ':$1'),
      // Before the body is read: who may not write need not be listened to.
      onRequest: async (request, reply) => {
        reply.header('www-authenticate', 'Bearer')
        await (method === 'get' ? auth.mayRead : auth.mayWrite)(request.headers.authorization)
        reply.removeHeader('www-authenticate')
      },
      handler,
    })
  }
  app.addHook('onClose', async () => auth.close())
  return app
}

/** Throws 404 for none, and 400 where the provider must be named. */
function onlyOne(nodeName: string, providerIds: readonly string[]): string {
  if (providerIds.length > 1)
    throw new HttpProblem(400, `providerId required: ${nodeName} is a node of ${providerIds.join(', ')}`, [
      { path: 'providerId', message: 'required: several providers have a node of this name' },
    ])
  const [providerId] = providerIds
  if (providerId === undefined) throw new HttpProblem(404, 'not found')
  return providerId
}

function json(reply: FastifyReply, body: unknown): FastifyReply {
  return reply.type('application/json').send(`${JSON.stringify(body)}\n`)
}

function paramsOf(request: FastifyRequest): Record<string, string> & { nodeName: string } {
  return { nodeName: '', ...(request.params as Record<string, string>) }
}

function queryOf(request: FastifyRequest): Record<string, string | undefined> {
  const query = request.query as Record<string, string | string[] | undefined>
  const first = Object.entries(query).map(([key, value]) => [key, Array.isArray(value) ? value[0] : value])
  return Object.fromEntries(first.filter(([, value]) => value !== ''))
}

function given<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return (value === undefined ? {} : { [key]: value }) as { [P in K]?: string }
}

function numberOf(name: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined
  const number = Number(text)
  if (!Number.isInteger(number) || number < least || number > most)
    throw new HttpProblem(400, `${name} must be a whole number from ${least} to ${most}`)
  return number
}

function timeOf(text: string): string {
  const time = new Date(text)
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text) || Number.isNaN(time.getTime()))
    throw new HttpProblem(400, 'at must be an RFC 3339 time, such as 2026-01-31T10:00:00Z')
  return time.toISOString()
}

function nextLink(url: string, { providerId, nodeName }: InventoryRecord): string {
  const next = new URL(url, 'http://inventory')
  next.searchParams.set('cursor', Buffer.from(JSON.stringify([providerId, nodeName])).toString('base64url'))
  return `<${next.pathname}${next.search}>; rel="next"`
}

function cursorFrom(text: string): { providerId: string; nodeName: string } {
  try {
    const [providerId, nodeName] = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof providerId === 'string' && typeof nodeName === 'string') return { providerId, nodeName }
  } catch {
    // Said below, as for every other text that is no cursor.
  }
  throw new HttpProblem(400, 'cursor is not one that this API has given')
}
