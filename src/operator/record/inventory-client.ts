/**
 * Writes records and verdicts to a separate inventory, and reads records back. What fails is sent again with the next sync.
 */
import { X509Certificate } from 'node:crypto'
import {
  type InventoryRecord,
  inventoryRecord,
  providerRecordsPath,
  recordsPath,
  writeTimeoutMs,
} from '../../contract/inventory.ts'
import { withoutSlash } from '../../contract/url.ts'
import { createHttp, type Http, type Proxies } from '../../http-client/client.ts'
import { tokenFromFile } from '../../kube/config.ts'
import { explain } from '../../runtime/errors.ts'
import { reload } from '../../server/reload.ts'
import type { StartCall } from '../../telemetry/client-metrics.ts'
import type { Log } from '../../telemetry/log.ts'
import type { ProcessSettings } from '../config.ts'
import type { Recorder } from './records.ts'

const caSetting = 'INVENTORY_CA_FILE'

export interface RemoteInventory {
  recorder: Recorder
  close(): Promise<void>
}

export interface RemoteInventoryOptions {
  settings: Pick<Partial<ProcessSettings>, 'INVENTORY_URL' | 'INVENTORY_TOKEN_FILE' | typeof caSetting>
  log: Log
  proxies?: Proxies
  startCall?: StartCall
  /** How often the file of the CA is read again. */
  reloadMs?: number
}

/** Undefined if the settings name no separate inventory. */
export async function openRemoteInventory(options: RemoteInventoryOptions): Promise<RemoteInventory | undefined> {
  const { settings, log, proxies, startCall, reloadMs: everyMs = 5_000 } = options
  const { INVENTORY_URL: url, INVENTORY_TOKEN_FILE: tokenFile, [caSetting]: path } = settings
  if (url === undefined) return undefined
  const connect = (ca?: string) =>
    createHttp({ service: 'inventory', timeoutMs: writeTimeoutMs, tls: { ca, caSetting }, proxies, startCall })
  const onChange = (renewed: string) => {
    const former = http
    http = connect(renewed)
    void former.close()
  }
  const opening = path === undefined ? undefined : reload({ path, parse: certificatesIn, log, everyMs, onChange })
  const ca = await opening?.catch(error => {
    throw explain(caSetting, error)
  })
  let http = connect(ca?.value)
  const token = tokenFile === undefined ? undefined : tokenFromFile(tokenFile)
  return {
    recorder: createRecorder({ request: request => http.request(request), url, token }),
    async close() {
      ca?.close()
      await http.close()
    },
  }
}

function certificatesIn(text: string): string {
  // Throws if there is none.
  new X509Certificate(text)
  return text
}

interface RecorderOptions {
  request: Http['request']
  url: string
  /** Called for every request, because the token may be renewed. */
  token: (() => Promise<string>) | undefined
}

function createRecorder({ request, url, token }: RecorderOptions): Recorder {
  const base = withoutSlash(url)
  const headersNow = async () => (token ? { authorization: `Bearer ${await token()}` } : {})
  return {
    async put(records, verdicts, audit) {
      await request({
        method: 'PUT',
        url: `${base}${recordsPath}`,
        headers: await headersNow(),
        body: { records, ...(verdicts.length > 0 && { verdicts }), ...(audit.length > 0 && { audit }) },
        repeatable: true,
        anyBody: true,
      })
    },
    async list(providerId) {
      const query = new URLSearchParams({ providerId })
      const { body } = await request({
        method: 'GET',
        url: `${base}${providerRecordsPath}?${query}`,
        headers: await headersNow(),
      })
      if (!Array.isArray(body)) throw new Error('inventory: the records have an unexpected format')
      return body.map((one): InventoryRecord => inventoryRecord.parse(one))
    },
  }
}
