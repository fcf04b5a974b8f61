import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { aWrite } from '../../../test/support/inventory.ts'
import { createLog, silent } from '../../telemetry/log.ts'
import { openStore } from '../store.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-import-'))
})
after(() => rm(dir, { recursive: true }))

const legacy = {
  records: [
    {
      providerId: 'p1',
      nodeName: 'worker-1',
      instanceId: 'vm-1',
      config: {
        nodeName: 'worker-1',
        instanceId: 'vm-1',
        interfaces: [
          {
            portId: 'port-1',
            name: 'multinic0',
            macAddress: 'FA:16:3E:00:00:01',
            address: '10.0.0.5',
            cidr: '10.0.0.0/24',
            mtu: 1450,
            deviceId: 'vm-1',
          },
          { id: 1, name: 'multinic1', macAddress: 'fa:16:3e:00:00:02' },
        ],
      },
      lastConfigHash: 'abc',
      updatedAt: '2025-01-21T10:30:45.123456789Z',
    },
    {
      providerId: 'p1',
      nodeName: 'worker-2',
      instanceId: '',
      config: { nodeName: 'worker-2', interfaces: null },
      lastConfigHash: '',
    },
  ],
}

test('a legacy inventory.json is imported once into the database next to it and left in place', async () => {
  const path = join(dir, 'inventory.json')
  const text = JSON.stringify(legacy, null, 2)
  writeFileSync(path, text)
  const first = await openStore({ path, log: silent })
  const record = await first.get('p1', 'worker-1')
  assert.equal(record?.lastConfigHash, 'abc')
  assert.equal(record?.updatedAt, '2025-01-21T10:30:45.123Z')
  assert.deepEqual(
    record?.config.interfaces.map(({ id, macAddress }) => [id, macAddress]),
    [
      [0, 'fa:16:3e:00:00:01'],
      [1, 'fa:16:3e:00:00:02'],
    ],
  )
  assert.equal((await first.history({ nodeName: 'worker-1' }))[0]?.why, 'imported from inventory.json')
  assert.equal((await first.list()).length, 2)
  await first.put([aWrite('worker-1', { removed: true })])
  await first.close()
  assert.ok(existsSync(join(dir, 'inventory.db')))
  assert.equal(readFileSync(path, 'utf8'), text)

  const second = await openStore({ path: join(dir, 'inventory.db'), log: silent })
  assert.equal(await second.get('p1', 'worker-1'), undefined)
  await second.close()
})

for (const [name, text] of Object.entries({
  truncated: '{"records":[{"prov',
  'of another format': '{"records":[{"providerId":1}]}',
})) {
  test(`a legacy file that is ${name} is logged, and the inventory starts without it`, async () => {
    const path = join(dir, `${name}.json`)
    writeFileSync(path, text)
    const lines: string[] = []
    const store = await openStore({ path, log: createLog({}, { write: line => lines.push(line) }) })
    assert.deepEqual(await store.list(), [])
    assert.match(lines.join(''), /cannot import legacy inventory file/)
    await store.close()
  })
}
