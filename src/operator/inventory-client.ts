/**
 * Writes records to a separate inventory. Records that fail are sent again with the next sync.
 */
import { maxWrites, recordsPath } from '../contract/inventory.ts'
import { withoutSlash } from '../contract/url.ts'
import { batchesOf } from '../http-client/batches.ts'
import type { Http } from '../http-client/client.ts'
import type { Recorder } from './records.ts'

export interface InventoryClientOptions {
  http: Http
  url: string
  /** Called for every request, because the token may be renewed. */
  token?: (() => Promise<string>) | undefined
}

/** Records are small, so the inventory's size limit is never reached. */
const limits = { items: maxWrites, bytes: Number.POSITIVE_INFINITY, costOf: () => 0 }

export function createInventoryClient({ http, url, token }: InventoryClientOptions): Recorder {
  const endpoint = `${withoutSlash(url)}${recordsPath}`
  return {
    async put(writes) {
      for (const records of batchesOf(writes, limits)) {
        const headers = token ? { authorization: `Bearer ${await token()}` } : {}
        await http.request({
          method: 'PUT',
          url: endpoint,
          headers,
          body: { records },
          repeatable: true,
          anyBody: true,
        })
      }
    },
  }
}
