import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aFleet, verdictsOf } from '../../test/support/fleet.ts'
import { nodeOf } from './nodes.ts'
import { isOf, notTakenOf, verdictHas } from './verdicts.ts'

const writes = aFleet({ nodes: 40, now: new Date('2026-11-15T06:00:00Z') })
const nodes = writes.map(write => nodeOf({ ...write, updatedAt: '2026-11-15T06:00:00Z' }, []))
const verdicts = verdictsOf(writes).map(one => ({ config: 'multinic-system/production', ...one }))

test('ports that are an interface are not among those that were left out', () => {
  const left = notTakenOf(verdicts, nodes)
  assert.ok(left.length > 0)
  assert.deepEqual(
    left.filter(({ reason }) => reason === 'Selected'),
    [],
  )
})

test('what one object leaves out and another takes is taken', () => {
  const [port] = writes[0]?.config.interfaces ?? []
  const refused = {
    config: 'other/one',
    vm: 'x',
    reason: 'VmNotSelected',
    message: 'not named',
    portId: port?.portId ?? '',
  }
  assert.deepEqual(notTakenOf([refused], nodes), [])
  assert.equal(notTakenOf([refused], []).length, 1)
})

test('what several objects say of a port is said once', () => {
  const one = { config: 'a/a', vm: 'x', reason: 'NoAddress', message: 'no address', portId: 'p' }
  assert.equal(notTakenOf([one, { ...one, config: 'b/b' }], []).length, 1)
  assert.equal(notTakenOf(undefined, nodes).length, 0)
})

test('a verdict belongs to the node of its VM, by id or by name', () => {
  const verdict = { config: 'a/a', vm: 'vm-1', reason: 'VmNotFound', message: '' }
  assert.ok(isOf(verdict, { instanceId: 'vm-1', nodeName: 'worker-1' }))
  assert.ok(isOf({ ...verdict, vm: 'worker-1' }, { instanceId: 'vm-1', nodeName: 'worker-1' }))
  assert.ok(!isOf({ ...verdict, vm: '' }, { instanceId: '', nodeName: 'worker-1' }))
  assert.ok(verdictHas(verdict, 'vmnot') && !verdictHas(verdict, 'worker'))
})
