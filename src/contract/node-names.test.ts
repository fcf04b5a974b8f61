import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { labelsOf, labelValue, objectName } from './node-names.ts'

const names: Record<string, [given: string, name: string]> = {
  'a valid name is unchanged': ['worker-1.example.com', 'worker-1.example.com'],
  'capital letters become lower case': ['Worker-1', 'worker-1'],
  'other characters become dashes': ['worker_1@rack/7', 'worker-1-rack-7'],
  'leading and trailing dots and dashes are removed': ['-.worker.-', 'worker'],
  'dashes next to dots are removed': ['a-.-b..c', 'a.b.c'],
  'a name without valid characters becomes node': ['___', 'node'],
  'a long name is truncated': [`${'a'.repeat(252)}-b`, 'a'.repeat(252)],
}

for (const [name, [given, expected]] of Object.entries(names))
  test(name, () => assert.equal(objectName(given), expected))

test('every text maps to a valid object name and label value', () => {
  const text = fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 400 }), fc.stringMatching(/^[A-Z.\-_]*$/))
  fc.assert(
    fc.property(text, given => {
      const name = objectName(given)
      assert.match(name, /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/)
      assert.ok(name.length <= 253)
      assert.match(labelValue(given), /^[a-z0-9]([-a-z0-9_.]{0,61}[a-z0-9])?$/)
      assert.equal(objectName(name), name)
    }),
  )
})

test('labels have the node, the VM and the provider', () => {
  assert.deepEqual(labelsOf({ nodeName: 'Worker_1', instanceId: 'VM 1' }, 'p/1'), {
    'multinic.io/node-name': 'worker_1',
    'multinic.io/instance-id': 'vm-1',
    'multinic.io/provider-id': 'p-1',
  })
  assert.equal(labelsOf({ nodeName: 'a' }, 'p')['multinic.io/instance-id'], undefined)
})
