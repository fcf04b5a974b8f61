/**
 * The HTTP APIs of the inventory and of the operator, as the commands ask them.
 *
 * Every answer is parsed at this door, and every failure says what is wrong and what to do.
 */
import { z } from 'zod'
import {
  type Deviation,
  deviation,
  type HistoryEntry,
  historyEntry,
  type InventoryRecord,
  inventoryRecord,
  type ProviderCatalog,
  providerCatalog,
  type SearchHit,
  searchHit,
} from '../contract/inventory.ts'
import {
  type OperatorVerdict,
  type PlanAnswer,
  planAnswer,
  planPath,
  verdictsAnswer,
  verdictsPath,
} from '../contract/operator-api.ts'
import { problem } from '../contract/problem.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Access, Service } from './access.ts'
import { CliError } from './io.ts'
import { harmless } from './render/paint.ts'

export type Query = Record<string, string | number | undefined>

export interface Api {
  records(query?: Query): Promise<InventoryRecord[]>
  /** Undefined when there is no such node. */
  record(nodeName: string, query?: Query): Promise<InventoryRecord | undefined>
  /** Newest first; empty when there was never such a node. */
  history(nodeName: string, query?: Query): Promise<HistoryEntry[]>
  search(q: string, limit: number): Promise<SearchHit[]>
  deviations(query?: Query): Promise<Deviation[]>
  providers(): Promise<ProviderCatalog['providers']>
  csv(query?: Query): Promise<string>
  /** Undefined when no operator answers at this address. */
  verdicts(query: Query): Promise<OperatorVerdict[] | undefined>
  plan(config: unknown): Promise<PlanAnswer>
}

const nodesPath = '/v1/inventory/node-configs'
const pageSize = 1_000
/** A dry run asks the whole cloud before it answers. */
const [usualMs, planMs] = [30_000, 180_000]

export function connectApi({ inventory, operator, token }: Access): Api {
  const get = async <T>(path: string, query: Query, schema: z.ZodType<T>, absent?: T): Promise<T> => {
    const answer = await ask(inventory(), withQuery(path, query), token)
    if (answer.status === 404 && absent !== undefined) return absent
    return parsed(answer, schema)
  }

  return {
    async records(query = {}) {
      const all: InventoryRecord[] = []
      let next: string | undefined = withQuery(nodesPath, { ...query, limit: pageSize })
      while (next !== undefined) {
        const answer: Answer = await ask(inventory(), next, token)
        all.push(...parsed(answer, z.array(inventoryRecord)))
        next = /<(\/[^<>]*)>; *rel="next"/.exec(answer.link)?.[1]
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
    deviations: (query = {}) => get('/v1/inventory/deviations', query, z.array(deviation)),
    providers: async () => (await get('/v1/interfaces/providers', {}, providerCatalog)).providers,
    async csv(query = {}) {
      const answer = await ask(inventory(), withQuery(nodesPath, { ...query, format: 'csv' }), token)
      if (answer.status !== 200) throw refusal(answer)
      return harmless(answer.text)
    },
    async verdicts(query) {
      const answer = await ask(operator(), withQuery(verdictsPath, query), token)
      return [204, 404].includes(answer.status) ? undefined : parsed(answer, verdictsAnswer).verdicts
    },
    async plan(config) {
      const answer = await ask(operator(), planPath, token, config)
      if (answer.status === 404)
        throw new CliError(`no operator answers at ${answer.service.url}; name its address with --operator URL`)
      return parsed(answer, planAnswer)
    },
  }
}

interface Answer {
  service: Service
  status: number
  text: string
  link: string
}

/** Far above any inventory. An answer may come packed: it counts as it is unpacked. */
const longestAnswer = 64 * 1024 * 1024

export async function textOf({ body }: Response, longest = longestAnswer): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body ?? []) {
    size += chunk.length
    if (size > longest) throw new Error(`the answer is longer than ${longest} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

async function ask(service: Service, path: string, token: Access['token'], body?: unknown): Promise<Answer> {
  const bearer = await token()
  try {
    const response = await fetch(`${service.url}${path}`, {
      // A redirect would carry the token to somebody else.
      redirect: 'manual',
      signal: AbortSignal.timeout(body === undefined ? usualMs : planMs),
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
    throw new CliError(unreachable(service, error), { cause: error })
  }
}

function unreachable({ name, url, said }: Service, error: unknown): string {
  const { code, message } = ((error as Error).cause ?? error) as { code?: string; message?: string }
  const why =
    (error as Error).name === 'TimeoutError' ? 'it took too long' : (causes[code ?? ''] ?? message ?? messageOf(error))
  return `the ${name} does not answer at ${url}: ${why}\nCheck the address (${said}), and that it can be reached from here.`
}

const causes: Record<string, string> = {
  ECONNREFUSED: 'nobody listens there',
  ENOTFOUND: 'there is no such host',
  EAI_AGAIN: 'the name of the host cannot be looked up',
  ECONNRESET: 'the connection was cut',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is not trusted here; name its CA in NODE_EXTRA_CA_CERTS',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is not trusted here; name its CA in NODE_EXTRA_CA_CERTS',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'its certificate is not trusted here; name its CA in NODE_EXTRA_CA_CERTS',
}

function parsed<T>(answer: Answer, schema: z.ZodType<T>): T {
  if (answer.status !== 200) throw refusal(answer)
  const found = schema.safeParse(jsonIn(answer.text))
  if (found.success) return found.data
  const { name, url, said } = answer.service
  throw new CliError(`what answers at ${url} is not a MultiNIC ${name} that this version knows; check ${said}`)
}

function refusal({ status, text, service }: Answer): CliError {
  const { name, url, said } = service
  if (status === 401)
    return new CliError(
      `the ${name} at ${url} wants a token that it knows; name its file with --token-file FILE or MULTINIC_TOKEN_FILE`,
    )
  const told = problem.safeParse(jsonIn(text))
  if (!told.success)
    return new CliError(`${url} answers with ${status}, not as a MultiNIC ${name} does; check the address (${said})`)
  const fields = told.data.errors?.map(({ path, message }) => `\n  ${path}: ${message}`) ?? []
  return new CliError(`the ${name} answers: ${told.data.detail}${fields.join('')}`)
}

/** Undefined for what is no JSON. Texts come from clouds and nodes: none of them may steer the terminal. */
function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value) => (typeof value === 'string' ? harmless(value) : value))
  } catch {
    return undefined
  }
}

function withQuery(path: string, query: Query): string {
  const given = new URLSearchParams()
  for (const [key, value] of Object.entries(query)) if (value !== undefined) given.set(key, String(value))
  return given.size === 0 ? path : `${path}?${given}`
}
