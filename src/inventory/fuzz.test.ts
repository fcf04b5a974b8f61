/** The API conforms to its OpenAPI document: thousands of requests generated from the document. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { adminCaller } from '../../test/support/access.ts'
import { assertReached, fuzzInventory, seeds } from '../../test/support/inventory-fuzz.ts'
import { startTargetCluster } from '../../test/support/target-cluster.ts'
import { createLog } from '../telemetry/log.ts'
import { startInventory } from './main.ts'

const token = 'a-token-that-writes'

/** Requests of each operation, and statuses that must occur. */
const modes: Record<string, [each: number, statuses: number[]]> = {
  true: [120, [200, 204, 304, 400, 401, 404]],
  false: [80, [200, 400, 401]],
}

for (const [anonymous, [each, expected]] of Object.entries(modes))
  test(`every response conforms to the OpenAPI document, and no request makes the server fail (anonymous access: ${anonymous})`, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-fuzz-'))
    const cluster = await startTargetCluster()
    const { tokensFile } = await adminCaller(dir, token)
    const failures: string[] = []
    const inventory = await startInventory({
      env: {
        INVENTORY_ADDR: '127.0.0.1:0',
        INVENTORY_DB_PATH: join(dir, 'inventory.db'),
        INVENTORY_TOKENS_FILE: tokensFile,
        INVENTORY_ANONYMOUS_ACCESS: anonymous,
        KUBECONFIG: cluster.api.kubeconfig,
        INVENTORY_RATE_LIMIT: '0',
      },
      log: createLog({}, { level: 'error', write: line => failures.push(line) }),
    })
    try {
      await inventory.recorder.put(seeds)
      const statuses = await fuzzInventory({ url: inventory.url, token, each })
      assert.deepEqual(failures, [])
      assertReached(statuses, expected)
    } finally {
      await inventory.close()
      await cluster.close()
      await rm(dir, { recursive: true })
    }
  })
