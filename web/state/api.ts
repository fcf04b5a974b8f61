/**
 * The inventory API as the dashboard uses it: sign-in, records in pages, history, search, and the stream of changes.
 */
import { csvText } from '../../src/contract/csv.ts'
import type {
  Deviation,
  HistoryEntry,
  HoldersAnswer,
  InventoryRecord,
  SearchHit,
} from '../../src/contract/inventory.ts'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { parseShown } from './shown.ts'
import { type StreamEvent, streamEvents } from './stream.ts'

const basePath = '/v1/inventory'
const sessionPath = '/v1/session'

export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Exchanges a token for a cookie that no script can read. A browser keeps it only with HTTPS or on the local machine. */
export async function signIn(token: string): Promise<'ok' | 'rejected' | 'notKept'> {
  const headers = { 'content-type': 'application/json' }
  const { ok } = await fetch(sessionPath, { method: 'POST', headers, body: JSON.stringify({ token }) })
  if (!ok) return 'rejected'
  return (await fetch(sessionPath)).ok ? 'ok' : 'notKept'
}

async function get(path: string, signal?: AbortSignal, attempts = 4): Promise<Response> {
  const response = await fetch(path, { cache: 'no-cache', ...(signal ? { signal } : {}) })
  if (response.ok) return response
  if (response.status === 429 && attempts > 1) {
    // All users behind one proxy share its address, and so its rate limit.
    const seconds = Math.min(10, Number(response.headers.get('retry-after')) || 1)
    await new Promise(resolve => setTimeout(resolve, seconds * 1_000))
    return get(path, signal, attempts - 1)
  }
  const { detail } = (await response.json().catch(() => ({}))) as { detail?: string }
  throw new ApiError(response.status, `${response.status} · GET ${path.split('?')[0]}${detail ? ` · ${detail}` : ''}`)
}

const bodyOf = async <T>(response: Response): Promise<T> => parseShown(await response.text())

const getJson = async <T>(path: string, signal?: AbortSignal) => bodyOf<T>(await get(path, signal))

const query = (values: Record<string, string | number | undefined>) =>
  new URLSearchParams(
    Object.entries(values).flatMap(([key, value]) =>
      value === undefined || value === '' ? [] : [[key, String(value)]],
    ),
  ).toString()

/** All records, now or at a time. The first page is small, so that the screen shows something at once. */
export async function* recordPages(at?: string): AsyncGenerator<InventoryRecord[]> {
  let next: string | undefined = `${basePath}/node-configs?${query({ limit: 120, at })}`
  while (next) {
    const response = await get(next)
    next = nextPage(response)?.replace(/([?&])limit=\d+/, '$1limit=500')
    yield await bodyOf<InventoryRecord[]>(response)
  }
}

/** Queries the list, because a browser logs the 404 of a removed node as an error. */
export async function recordOf(providerId: string, nodeName: string): Promise<InventoryRecord | undefined> {
  const [record] = await getJson<InventoryRecord[]>(`${basePath}/node-configs?${query({ providerId, nodeName })}`)
  return record
}

/** Verdicts on ignored ports and VMs. Undefined if no operator has written any. */
export const verdicts = () =>
  verdictPage('/v1/operator/verdicts?selected=false&limit=5000').then(page => page?.verdicts)

/** Verdicts on all ports, or only on the selected ones, of all pages. */
export async function allVerdicts(kind?: 'selected'): Promise<OperatorVerdict[]> {
  const found: OperatorVerdict[] = []
  let next: string | undefined = `/v1/operator/verdicts?${kind ? 'selected=true&' : ''}limit=5000`
  while (next) {
    const page: VerdictPage | undefined = await verdictPage(next)
    found.push(...(page?.verdicts ?? []))
    next = page?.next
  }
  return found
}

interface VerdictPage {
  verdicts: OperatorVerdict[]
  next: string | undefined
}

async function verdictPage(path: string): Promise<VerdictPage | undefined> {
  const response = await get(path)
  if (response.status === 204) return undefined
  const { verdicts } = await bodyOf<{ verdicts: OperatorVerdict[] }>(response)
  return { verdicts, next: nextPage(response) }
}

const nextPage = (response: Response) => /<(\/[^<>]*)>;\s*rel="?next"?/.exec(response.headers.get('link') ?? '')?.[1]

export const deviations = () => getJson<Deviation[]>(`${basePath}/deviations`)

export const search = (q: string, signal: AbortSignal) =>
  getJson<SearchHit[]>(`${basePath}/search?${query({ q, limit: 30 })}`, signal)

export const holders = (q: string, signal: AbortSignal) =>
  getJson<HoldersAnswer>(`${basePath}/holders?${query({ q })}`, signal)

export const recentHistory = (limit: number, before?: number) =>
  getJson<HistoryEntry[]>(`${basePath}/history?${query({ limit, before })}`)

/** Whether the history has a node of this name, of any provider. */
export const isInHistory = async (nodeName: string, signal: AbortSignal) =>
  (await getJson<HistoryEntry[]>(`${basePath}/history?${query({ nodeName, limit: 1 })}`, signal)).length > 0

export async function nodeHistory(providerId: string, nodeName: string, limit: number, before?: number) {
  try {
    const path = `${basePath}/node-configs/${encodeURIComponent(nodeName)}/history`
    return await getJson<HistoryEntry[]>(`${path}?${query({ providerId, limit, before })}`)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

/** The entries of these nodes, newest first. */
export async function historyOfNodes(
  nodes: readonly { providerId: string; nodeName: string }[],
  limit: number,
): Promise<HistoryEntry[]> {
  const unique = new Map(
    nodes.map(({ providerId, nodeName }) => [`${providerId} ${nodeName}`, { providerId, nodeName }]),
  )
  const entries = await Promise.all([...unique.values()].map(one => nodeHistory(one.providerId, one.nodeName, limit)))
  return entries.flat().sort((a, b) => b.id - a.id)
}

/** Downloads with fetch, so that a failure is shown on the page. */
export async function downloadCsv({ providerId, at }: { providerId?: string | undefined; at?: string | undefined }) {
  const response = await get(`${basePath}/node-configs?${query({ format: 'csv', providerId, at })}`)
  saveFile(await response.blob(), providerId ? `node-configs-${providerId}.csv` : 'node-configs.csv')
}

/** Saves the rows of a screen as CSV. */
export function saveCsv(rows: readonly (readonly string[])[], name: string): void {
  saveFile(new Blob([csvText(rows)], { type: 'text/csv;charset=utf-8' }), name)
}

function saveFile(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** Every change from now on, or after the entry `after`, until the stream breaks. */
export async function* streamChanges(
  after: string | undefined,
  onOpen: () => void,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const headers = { accept: 'text/event-stream', ...(after ? { 'last-event-id': after } : {}) }
  const response = await fetch(`${basePath}/events`, { headers, cache: 'no-store', signal })
  if (!response.ok || !response.body) throw new ApiError(response.status, `${response.status} · GET ${basePath}/events`)
  onOpen()
  yield* streamEvents(response.body)
}
