import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aFleet, verdictsOf } from '../../test/support/fleet.ts'
import { nodeOf } from './nodes.ts'
import { ignoredVerdicts, isVerdictOn } from './verdicts.ts'

const writes = aFleet({ nodes: 40, now: new Date('2026-11-15T06:00:00Z') })
const nodes = writes.map(write => nodeOf({ ...write, updatedAt: '2026-11-15T06:00:00Z' }, []))
const verdicts = verdictsOf(writes).map(one => ({ config: 'multinic-system/production', ...one }))

test('ports that became an interface are not listed as ignored', () => {
  const ignored = ignoredVerdicts(verdicts, nodes)
  assert.ok(ignored.length > 0)
  assert.deepEqual(
    ignored.filter(({ reason }) => reason === 'Selected'),
    [],
  )
})

test('a port that one OpenstackConfig ignores and another selects is not listed as ignored', () => {
  const [port] = writes[0]?.config.interfaces ?? []
  const refused = {
    config: 'other/one',
    vm: 'x',
    reason: 'VmNotSelected',
    message: 'not named',
    portId: port?.portId ?? '',
  }
  assert.deepEqual(ignoredVerdicts([refused], nodes), [])
  assert.equal(ignoredVerdicts([refused], []).length, 1)
})

test('the same verdict of several OpenstackConfigs is listed once', () => {
  const one = { config: 'a/a', vm: 'x', reason: 'NotSelected', message: 'no address', portId: 'p' }
  assert.equal(ignoredVerdicts([one, { ...one, config: 'b/b' }], []).length, 1)
  assert.equal(ignoredVerdicts(undefined, nodes).length, 0)
})

test('a verdict belongs to the node of its VM, by ID or by name', () => {
  const verdict = { config: 'a/a', vm: 'vm-1', reason: 'VmNotFound', message: '' }
  assert.ok(isVerdictOn(verdict, { instanceId: 'vm-1', nodeName: 'worker-1' }))
  assert.ok(isVerdictOn({ ...verdict, vm: 'worker-1' }, { instanceId: 'vm-1', nodeName: 'worker-1' }))
  assert.ok(!isVerdictOn({ ...verdict, vm: '' }, { instanceId: '', nodeName: 'worker-1' }))
})
