/**
 * Bodies that are sent while they are still being made, page by page.
 */
import { Readable } from 'node:stream'
import type { InventoryRecord } from '../contract/inventory.ts'
import { csvOf } from './csv.ts'
import { withRemedies } from './rows.ts'

type Pages = AsyncGenerator<InventoryRecord[]>

/** A stream whose first piece is there: what fails before it can still be answered as a problem. */
export async function begun(texts: AsyncGenerator<string>): Promise<Readable> {
  const { value: first = '' } = await texts.next()
  return Readable.from(
    (async function* () {
      yield first
      yield* texts
    })(),
  )
}

export async function* jsonTexts(pages: Pages): AsyncGenerator<string> {
  let before = '['
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + page.map(record => JSON.stringify(withRemedies(record))).join(',')
    before = ','
  }
  yield before === '[' ? '[]\n' : ']\n'
}

/** The head once. */
export async function* csvTexts(pages: Pages): AsyncGenerator<string> {
  const head = csvOf([])
  let before = head
  for await (const page of pages) {
    yield before + csvOf(page).slice(head.length)
    before = ''
  }
  yield before
}
