/**
 * Writes records to a separate inventory, and reads them back. Records that fail are sent again with the next sync.
 */
import {
  type InventoryRecord,
  inventoryRecord,
  maxWrites,
  providerRecordsPath,
  recordsPath,
} from '../contract/inventory.ts'
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
  const base = withoutSlash(url)
  const headersNow = async () => (token ? { authorization: `Bearer ${await token()}` } : {})
  return {
    async put(writes) {
      for (const records of batchesOf(writes, limits)) {
        await http.request({
          method: 'PUT',
          url: `${base}${recordsPath}`,
          headers: await headersNow(),
          body: { records },
          repeatable: true,
          anyBody: true,
        })
      }
    },
    async list(providerId) {
      const query = new URLSearchParams({ providerId })
      const { body } = await http.request({
        method: 'GET',
        url: `${base}${providerRecordsPath}?${query}`,
        headers: await headersNow(),
      })
      if (!Array.isArray(body)) throw new Error('inventory: the records have an unexpected format')
      return body.map((one): InventoryRecord => inventoryRecord.parse(one))
    },
  }
}
