import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before } from 'node:test'
import { inventoryReasonsConformance } from '../../../test/conformance/inventory-reasons.ts'
import { silent } from '../../telemetry/log.ts'
import { openStore } from '../store.ts'

const golden = new URL('../../../test/golden/inventory/0002-times-of-nodes.sql', import.meta.url)
let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-reason-names-'))
})
after(() => rm(dir, { recursive: true }))

const path = () => join(dir, 'inventory.db')

function withFile<T>(work: (file: DatabaseSync) => T): T {
  const file = new DatabaseSync(path())
  try {
    return work(file)
  } finally {
    file.close()
  }
}

inventoryReasonsConformance({
  async create() {
    const tables = ['history', 'events', 'deliveries', 'addresses', 'interfaces', 'nodes', 'providers', 'sequences']
    withFile(file => {
      file.exec(readFileSync(golden, 'utf8'))
      for (const table of tables) file.exec(`delete from ${table}`)
    })
  },
  query: async statement => withFile(file => file.prepare(statement).all()),
  open: () => openStore({ path: path(), log: silent }),
})
