/**
 * An inventory that runs on its own, as the operator writes to it.
 *
 * What it does not take stays noted and is sent again with the next sync.
 */
import { maxWrites, recordsPath } from '../contract/inventory.ts'
import { withoutSlash } from '../contract/url.ts'
import { batchesOf } from '../http-client/batches.ts'
import type { Http } from '../http-client/client.ts'
import type { Recorder } from './records.ts'

export interface InventoryClientOptions {
  http: Http
  url: string
  /** Read for every request: the token may be renewed while we run. */
  token?: (() => Promise<string>) | undefined
}

/** Records are small: the inventory's limit of bytes is never reached. */
const limits = { items: maxWrites, bytes: Number.POSITIVE_INFINITY, costOf: () => 0 }

export function createInventoryClient({ http, url, token }: InventoryClientOptions): Recorder {
  const place = `${withoutSlash(url)}${recordsPath}`
  return {
    async put(writes) {
      for (const records of batchesOf(writes, limits)) {
        const headers = token ? { authorization: `Bearer ${await token()}` } : {}
        await http.request({ method: 'PUT', url: place, headers, body: { records }, repeatable: true, anyBody: true })
      }
    },
  }
}
