/**
 * Clients of the inventory and operator APIs.
 *
 * Every response is validated here, and every failure says what is wrong and what to do.
 */
import * as z from 'zod'
import { type AuditEntry, auditEntry, auditPath } from '../contract/audit.ts'
import {
  type HistoryEntry,
  type HoldersAnswer,
  historyEntry,
  holdersAnswer,
  type InventoryRecord,
  inventoryRecord,
  type SearchHit,
  searchHit,
} from '../contract/inventory.ts'
import {
  type OperatorVerdict,
  type PlanAnswer,
  planAnswer,
  planPath,
  type StoredPlans,
  storedPlansAnswer,
  storedPlansPath,
  verdictsAnswer,
  verdictsPath,
} from '../contract/operator-api.ts'
import { problem } from '../contract/problem.ts'
import { elementCounter } from '../runtime/bounded-body.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Access, Service } from './access.ts'
import { connectTo } from './connection.ts'
import { CliError } from './io.ts'
import { whyUnreachable } from './network-errors.ts'
import { printable } from './render/paint.ts'

export type Query = Record<string, string | number | undefined>

export interface Api {
  records(query?: Query): Promise<InventoryRecord[]>
  /** Undefined if there is no such node. */
  record(nodeName: string, query?: Query): Promise<InventoryRecord | undefined>
  /** Newest first. Empty if the node has no history. */
  history(nodeName: string, query?: Query): Promise<HistoryEntry[]>
  search(q: string, limit: number): Promise<SearchHit[]>
  holders(q: string): Promise<HoldersAnswer>
  csv(query?: Query): Promise<string>
  /** Newest first. */
  audit(query: Query & { limit: number }): Promise<AuditEntry[]>
  /** Undefined if the inventory has none of any operator. */
  verdicts(query: Query): Promise<OperatorVerdict[] | undefined>
  /** Throws `OperatorUnavailable` if no operator answers. */
  plan(config: unknown): Promise<PlanAnswer>
  /** Of the last syncs, from the inventory. */
  storedPlans(config: string): Promise<StoredPlans>
}

const nodesPath = '/v1/inventory/node-configs'
const pageSize = 1_000
/** A dry run reads the cloud before it responds. */
const [readTimeoutMs, planTimeoutMs] = [30_000, 180_000]

export function connectApi({ inventory, operator, token }: Access): Api {
  const get = async <T>(path: string, query: Query, schema: z.ZodType<T>, absent?: T): Promise<T> => {
    const answer = await ask(await inventory(), withQuery(path, query), token)
    if (answer.status === 404 && absent !== undefined) return absent
    return parsed(answer, schema)
  }

  return {
    async records(query = {}) {
      const all: InventoryRecord[] = []
      let next: string | undefined = withQuery(nodesPath, { ...query, limit: pageSize })
      while (next !== undefined) {
        const answer: Answer = await ask(await inventory(), next, token)
        all.push(...parsed(answer, z.array(inventoryRecord)))
        next = nextPage(answer)
      }
      return all
    },
    async record(nodeName, query = {}) {
      const found = await get(`${nodesPath}/${encodeURIComponent(nodeName)}`, query, inventoryRecord.nullable(), null)
      return found ?? undefined
    },
    history: (nodeName, query = {}) =>
      get(`${nodesPath}/${encodeURIComponent(nodeName)}/history`, query, z.array(historyEntry), []),
    search: (q, limit) => get('/v1/inventory/search', { q, limit }, z.array(searchHit)),
    holders: q => get('/v1/inventory/holders', { q }, holdersAnswer),
    async csv(query = {}) {
      const answer = await ask(await inventory(), withQuery(nodesPath, { ...query, format: 'csv' }), token)
      if (answer.status !== 200) throw refusal(answer)
      return printable(answer.text)
    },
    async audit({ limit, ...query }) {
      const all: AuditEntry[] = []
      for (;;) {
        const before = all.at(-1)?.id
        const page = await get(auditPath, { ...query, before }, z.array(auditEntry))
        all.push(...page)
        if (page.length < pageSize || all.length >= limit) return all.slice(0, limit)
      }
    },
    async verdicts(query) {
      const all: OperatorVerdict[] = []
      let next: string | undefined = withQuery(verdictsPath, query)
      while (next !== undefined) {
        const answer: Answer = await ask(await inventory(), next, token)
        if ([204, 404].includes(answer.status)) return undefined
        all.push(...parsed(answer, verdictsAnswer).verdicts)
        next = nextPage(answer)
      }
      return all
    },
    async plan(config) {
      const service = await operator()
      const answer = await ask(service, planPath, token, config).catch(error => {
        throw new OperatorUnavailable(messageOf(error), { cause: error })
      })
      if (answer.status === 404)
        throw new OperatorUnavailable(`no operator responds at ${service.url}; set its URL with --operator URL`)
      if (answer.status === 503) throw new OperatorUnavailable(refusal(answer).message)
      return parsed(answer, planAnswer)
    },
    storedPlans: async config => (await get(storedPlansPath, { config }, storedPlansAnswer, { plans: [] })).plans,
  }
}

/** No operator plans now; the inventory may have an earlier plan. */
export class OperatorUnavailable extends CliError {}

interface Answer {
  service: Service
  status: number
  text: string
  link: string
}

const nextPage = ({ link }: Answer) => /<(\/[^<>]*)>; *rel="next"/.exec(link)?.[1]

/** Larger than any inventory. Compressed responses count uncompressed. */
const maxResponseBytes = 64 * 1024 * 1024

/** A page of records has a third of it. */
const maxResponseElements = 1_000_000

export async function textOf({ body, headers }: Response, maxBytes = maxResponseBytes): Promise<string> {
  const chunks: Uint8Array[] = []
  const isJson = headers.get('content-type')?.includes('json')
  const count = isJson ? elementCounter(maxResponseElements) : () => undefined
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > maxBytes) throw new Error(`the response is larger than ${maxBytes} bytes`)
    const excess = count(chunk)
    if (excess !== undefined) throw new Error(`the response ${excess}`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function ask(service: Service, path: string, token: Access['token'], body?: unknown): Promise<Answer> {
  const bearer = await token()
  const connection = await connectTo(service)
  try {
    const response = await connection.fetch(path, {
      // A redirect would send the token to another host.
      redirect: 'manual',
      signal: AbortSignal.timeout(body === undefined ? readTimeoutMs : planTimeoutMs),
      headers: {
        accept: 'application/json, application/problem+json, text/csv',
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    const { status, headers } = response
    return { service, status, text: await textOf(response), link: headers.get('link') ?? '' }
  } catch (error) {
    const problem = connection.problem()
    throw new CliError(unreachable(service, problem === undefined ? error : new Error(problem)), { cause: error })
  } finally {
    await connection.close()
  }
}

function unreachable({ name, url, setBy, tls }: Service, error: unknown): string {
  return `cannot reach the ${name} at ${url}: ${whyUnreachable(error, tls?.caSource)}\nCheck the URL (${setBy}) and the network.`
}

function parsed<T>(answer: Answer, schema: z.ZodType<T>): T {
  if (answer.status !== 200) throw refusal(answer)
  const found = schema.safeParse(jsonIn(answer.text))
  if (found.success) return found.data
  const { name, url, setBy } = answer.service
  throw new CliError(`${url} does not respond like a MultiNIC ${name} of this version; check ${setBy}`)
}

function refusal({ status, text, service }: Answer): CliError {
  const { name, url, setBy } = service
  if (status === 401)
    return new CliError(
      `the ${name} at ${url} requires a valid token; set its file with --token-file FILE or MULTINIC_TOKEN_FILE`,
    )
  const parsedProblem = problem.safeParse(jsonIn(text))
  if (!parsedProblem.success)
    return new CliError(`${url} responds with HTTP ${status}, unlike a MultiNIC ${name}; check the URL (${setBy})`)
  const fields = parsedProblem.data.errors?.map(({ path, message }) => `\n  ${path}: ${message}`) ?? []
  return new CliError(`the ${name} responds: ${parsedProblem.data.detail}${fields.join('')}`)
}

/** Undefined if the text is not JSON. Strings come from clouds and nodes, so control sequences are removed. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value) => (typeof value === 'string' ? printable(value) : value))
  } catch {
    return undefined
  }
}

function withQuery(path: string, query: Query): string {
  const given = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value))
  return given.size === 0 ? path : `${path}?${given}`
}
