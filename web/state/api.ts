/**
 * The inventory API as the dashboard uses it: reads, pages, and the stream of changes. A token, where one is needed, is kept for
 * this tab only.
 */
import type { Deviation, HistoryEntry, InventoryRecord, SearchHit } from '../../src/contract/inventory.ts'
import type { OperatorVerdict } from '../../src/contract/operator-api.ts'
import { type StreamEvent, streamEvents } from './stream.ts'

const root = '/v1/inventory'
const tokenName = 'multinic.token'

export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export function keepToken(token: string): void {
  sessionStorage.setItem(tokenName, token)
}

export const hasToken = () => sessionStorage.getItem(tokenName) !== null

function headers(more: Record<string, string> = {}): Record<string, string> {
  const token = sessionStorage.getItem(tokenName)
  return token ? { ...more, authorization: `Bearer ${token}` } : more
}

async function get(path: string, signal?: AbortSignal, tries = 4): Promise<Response> {
  const answer = await fetch(path, { headers: headers(), cache: 'no-cache', ...(signal ? { signal } : {}) })
  if (answer.ok) return answer
  if (answer.status === 429 && tries > 1) {
    // Everybody behind one proxy shares its address, and with it the limit.
    const seconds = Math.min(10, Number(answer.headers.get('retry-after')) || 1)
    await new Promise(resolve => setTimeout(resolve, seconds * 1_000))
    return get(path, signal, tries - 1)
  }
  const said = (await answer.json().catch(() => ({}))) as { detail?: string }
  throw new ApiError(
    answer.status,
    `${answer.status} · GET ${path.split('?')[0]}${said.detail ? ` · ${said.detail}` : ''}`,
  )
}

const read = async <T>(path: string, signal?: AbortSignal) => (await (await get(path, signal)).json()) as T

const query = (values: Record<string, string | number | undefined>) =>
  new URLSearchParams(
    Object.entries(values).flatMap(([key, value]) =>
      value === undefined || value === '' ? [] : [[key, String(value)]],
    ),
  ).toString()

/** All records, now or at a time, page by page: the first is small, so that something is seen at once. */
export async function* recordPages(at?: string): AsyncGenerator<InventoryRecord[]> {
  let next: string | undefined = `${root}/node-configs?${query({ limit: 120, at })}`
  while (next) {
    const answer = await get(next)
    const link = /<(\/[^<>]*)>;\s*rel="?next"?/.exec(answer.headers.get('link') ?? '')?.[1]
    next = link?.replace(/([?&])limit=\d+/, '$1limit=500')
    yield (await answer.json()) as InventoryRecord[]
  }
}

/** Undefined when there is none: asked as a list, because a node that is gone is nothing to complain about. */
export async function recordOf(providerId: string, nodeName: string): Promise<InventoryRecord | undefined> {
  const [record] = await read<InventoryRecord[]>(`${root}/node-configs?${query({ providerId, nodeName })}`)
  return record
}

/** Verdicts on what was not taken. Undefined where no operator stands behind this address: an inventory on its own has none. */
export async function verdicts(): Promise<OperatorVerdict[] | undefined> {
  const answer = await get('/v1/operator/verdicts?taken=false&limit=5000')
  return answer.status === 204 ? undefined : ((await answer.json()) as { verdicts: OperatorVerdict[] }).verdicts
}

export const deviations = () => read<Deviation[]>(`${root}/deviations`)

export const search = (q: string, signal: AbortSignal) =>
  read<SearchHit[]>(`${root}/search?${query({ q, limit: 30 })}`, signal)

export const recentHistory = (limit: number, before?: number) =>
  read<HistoryEntry[]>(`${root}/history?${query({ limit, before })}`)

export async function nodeHistory(providerId: string, nodeName: string, limit: number, before?: number) {
  try {
    const path = `${root}/node-configs/${encodeURIComponent(nodeName)}/history`
    return await read<HistoryEntry[]>(`${path}?${query({ providerId, limit, before })}`)
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return []
    throw error
  }
}

/** The file itself, as the API makes it; with the token, which a plain link could not carry. */
export async function downloadCsv({ providerId, at }: { providerId?: string | undefined; at?: string | undefined }) {
  const answer = await get(`${root}/node-configs?${query({ format: 'csv', providerId, at })}`)
  save(await answer.blob(), providerId ? `node-configs-${providerId}.csv` : 'node-configs.csv')
}

/** Rows that are on the screen, as a file of comma-separated values. */
export function saveCsv(rows: readonly (readonly string[])[], name: string): void {
  // A cell that a spreadsheet would take for a formula is made text.
  const cell = (text: string) => `"${(/^[=+\-@\t\r]/.test(text) ? `'${text}` : text).replaceAll('"', '""')}"`
  const lines = rows.map(row => `${row.map(cell).join(',')}\r\n`)
  save(new Blob(lines, { type: 'text/csv;charset=utf-8' }), name)
}

function save(content: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(content)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** Every change from now on, or from `after` on, until the stream breaks. */
export async function* changes(
  after: string | undefined,
  onOpen: () => void,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const more = { accept: 'text/event-stream', ...(after ? { 'last-event-id': after } : {}) }
  const answer = await fetch(`${root}/events`, { headers: headers(more), cache: 'no-store', signal })
  if (!answer.ok || !answer.body) throw new ApiError(answer.status, `${answer.status} · GET ${root}/events`)
  onOpen()
  yield* streamEvents(answer.body)
}

/** Records that had this value at a time: also of nodes that are gone. */
export const recordsWith = (q: string, at: string) =>
  read<InventoryRecord[]>(`${root}/node-configs?${query({ q, at, limit: 50 })}`)
