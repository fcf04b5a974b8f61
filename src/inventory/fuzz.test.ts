/** The API keeps what its OpenAPI page promises: thousands of requests that are made of the page itself. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { stringify } from 'yaml'
import { fuzzInventory, seeds } from '../../test/support/inventory-fuzz.ts'
import { createLog } from '../telemetry/log.ts'
import { startInventory } from './main.ts'

const token = 'a-token-that-writes'

/** How often, and what is answered at least once: the requests must reach what they are meant to reach. */
const doors: Record<string, [runs: number, statuses: number[]]> = {
  true: [9_500, [200, 204, 304, 400, 401, 404]],
  false: [500, [200, 400, 401]],
}

for (const [openReads, [runs, expected]] of Object.entries(doors))
  test(`nothing that can be asked makes it fail, nor answer other than the page says (reads open: ${openReads})`, async () => {
    const dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-fuzz-'))
    const tokens = join(dir, 'tokens.yaml')
    writeFileSync(tokens, stringify({ tokens: [{ name: 'operator', token, roles: ['admin'] }] }))
    const failures: string[] = []
    const inventory = await startInventory({
      env: {
        INVENTORY_ADDR: '127.0.0.1:0',
        INVENTORY_DB_PATH: join(dir, 'inventory.db'),
        INVENTORY_TOKENS_FILE: tokens,
        INVENTORY_OPEN_READS: openReads,
        INVENTORY_RATE_LIMIT: '0',
      },
      log: createLog({}, { level: 'error', write: line => failures.push(line) }),
    })
    try {
      await inventory.recorder.put(seeds)
      const statuses = await fuzzInventory({ url: inventory.url, token, runs })
      assert.deepEqual(failures, [])
      for (const status of expected)
        assert.ok((statuses.get(status) ?? 0) > 0, `${status} was never answered: ${JSON.stringify([...statuses])}`)
    } finally {
      await inventory.close()
      await rm(dir, { recursive: true })
    }
  })
