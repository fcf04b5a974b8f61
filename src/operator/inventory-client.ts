/**
 * Writes records and verdicts to a separate inventory, and reads records back. What fails is sent again with the next sync.
 */
import {
  type InventoryRecord,
  inventoryRecord,
  inventoryWritten,
  providerRecordsPath,
  recordsPath,
} from '../contract/inventory.ts'
import { withoutSlash } from '../contract/url.ts'
import type { Http } from '../http-client/client.ts'
import type { Recorder } from './records.ts'

export interface InventoryClientOptions {
  http: Http
  url: string
  /** Called for every request, because the token may be renewed. */
  token?: (() => Promise<string>) | undefined
}

export function createInventoryClient({ http, url, token }: InventoryClientOptions): Recorder {
  const base = withoutSlash(url)
  const headersNow = async () => (token ? { authorization: `Bearer ${await token()}` } : {})
  return {
    async put(records, verdicts) {
      const { body } = await http.request({
        method: 'PUT',
        url: `${base}${recordsPath}`,
        headers: await headersNow(),
        body: { records, ...(verdicts.length > 0 && { verdicts }) },
        repeatable: true,
        anyBody: true,
      })
      return inventoryWritten.safeParse(body).data?.verdicts === verdicts.length
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
