/**
 * Response bodies that are sent page by page while the next page is read.
 */
import { Readable } from 'node:stream'
import type { InventoryRecord } from '../contract/inventory.ts'
import { csvOf } from './csv.ts'
import { withRemedies } from './rows.ts'

type Pages = AsyncGenerator<InventoryRecord[]>

/** Reads the first chunk before the response starts, so that an early error still becomes a problem response. */
export async function startStream(chunks: AsyncGenerator<string>): Promise<Readable> {
  const { value: first = '' } = await chunks.next()
  return Readable.from(
    (async function* () {
      yield first
      yield* chunks
    })(),
  )
}

export async function* jsonChunks(pages: Pages): AsyncGenerator<string> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.map(record => JSON.stringify(withRemedies(record))).join(',')
    before = ','
  }
  yield before === '[' ? '[]\n' : ']\n'
}

/** The header line comes once. */
export async function* csvChunks(pages: Pages): AsyncGenerator<string> {
  const header = csvOf([])
  let before = header
  for await (const page of pages) {
    yield before + csvOf(page).slice(header.length)
    before = ''
  }
  yield before
}
