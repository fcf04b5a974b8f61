import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryWrite } from '../../contract/inventory.ts'
import type { VerdictWrite } from '../../contract/operator-api.ts'
import { ServiceError } from '../../http-client/errors.ts'
import { silent } from '../../telemetry/log.ts'
import { aNic, aNode, one } from '../plan/plan.fixture.ts'
import { createRecords } from './records.ts'

const refusal = (status: number) =>
  new ServiceError(`inventory: HTTP ${status}`, { service: 'inventory', kind: 'answer', status })

/** An inventory that refuses every request with one of these nodes or VMs. */
function anInventory(refused: readonly string[], status = 400) {
  const stored: string[] = []
  let requests = 0
  const put = async (writes: InventoryWrite[], verdicts: VerdictWrite[]) => {
    requests++
    const names = [
      ...writes.map(({ nodeName }) => nodeName),
      ...verdicts.flatMap(({ verdicts: some }) => some.map(({ vm }) => vm)),
    ]
    if (names.some(name => refused.includes(name))) throw refusal(status)
    stored.push(...names)
    return true
  }
  const records = createRecords({ put }, () => new Date('2026-01-01T00:00:00Z'))
  const note = (index: number, why = 'new') =>
    records.note('biz', { ...one, nodeName: `worker-${index}`, instanceId: `vm-${index}` }, why)
  return { stored, records, note, requests: () => requests }
}

const workers = (count: number) => Array.from({ length: count }, (_, index) => index)
const names = (indexes: readonly number[]) => indexes.map(index => `worker-${index}`)

test('a record that the inventory refuses keeps back no other one, and is sent again only when it changes', async () => {
  const inventory = anInventory(['worker-7', 'worker-210'])
  for (const index of workers(300)) inventory.note(index)
  assert.equal(await inventory.records.flush(silent), true)
  const accepted = workers(300).filter(index => ![7, 210].includes(index))
  assert.deepEqual(inventory.stored.toSorted(), names(accepted).toSorted())
  const before = inventory.requests()
  assert.equal(await inventory.records.flush(silent), true)
  assert.equal(inventory.requests(), before)
  inventory.records.note('biz', { ...aNode([aNic(2, 0)]), nodeName: 'worker-7', instanceId: 'vm-7' }, 'changed')
  await inventory.records.flush(silent)
  assert.equal(inventory.requests(), before + 1)
})

test('verdicts that the inventory refuses keep back neither the records nor the other verdicts', async () => {
  const inventory = anInventory(['vm-2'])
  for (const index of workers(4)) inventory.note(index)
  const verdicts = workers(2_000).map(index => ({ vm: `vm-${index}`, reason: 'NotSelected' as const, message: '' }))
  assert.equal(await inventory.records.flush(silent, { config: 'a/b', providerId: 'biz', verdicts }), true)
  assert.deepEqual(inventory.stored.filter(name => name.startsWith('worker')).toSorted(), names(workers(4)))
  // In other ranges than vm-2, in the order of the names.
  for (const vm of ['vm-0', 'vm-999']) assert.ok(inventory.stored.includes(vm), vm)
  assert.ok(!inventory.stored.includes('vm-2'))
})

test('a provider that the operator may not write keeps back no other one, and is sent again with the next sync', async () => {
  const stored: string[] = []
  let hasRight = false
  const put = async (writes: InventoryWrite[], verdicts: VerdictWrite[]) => {
    if (!hasRight && [...writes, ...verdicts].some(({ providerId }) => providerId === 'new')) throw refusal(403)
    stored.push(...writes.map(({ providerId, nodeName }) => `${providerId} ${nodeName}`))
    return true
  }
  const records = createRecords({ put }, () => new Date('2026-01-01T00:00:00Z'))
  for (const provider of ['new', 'biz'])
    for (const index of workers(250)) records.note(provider, { ...one, nodeName: `worker-${index}` }, 'new')
  assert.equal(await records.flush(silent), false)
  assert.deepEqual(
    stored.toSorted(),
    names(workers(250))
      .map(name => `biz ${name}`)
      .toSorted(),
  )
  stored.length = 0
  hasRight = true
  assert.equal(await records.flush(silent), true)
  assert.deepEqual(
    stored.toSorted(),
    names(workers(250))
      .map(name => `new ${name}`)
      .toSorted(),
  )
})

for (const status of [403, 500, 503])
  test(`after a ${status} everything is sent again`, async () => {
    const inventory = anInventory(['worker-1'], status)
    for (const index of workers(3)) inventory.note(index)
    assert.equal(await inventory.records.flush(silent), false)
    assert.deepEqual([inventory.stored, inventory.requests()], [[], 1])
    await inventory.records.flush(silent)
    assert.equal(inventory.requests(), 2)
  })
