import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aRule } from '../test/agent.fixture.ts'
import { ruleKey } from './change.ts'
import { removedInstead } from './equivalent.ts'
import { ruleSpec } from './nic-state.ts'

const from = '10.100.0.10/32'
const ours = aRule({ from })
/** Rules beside ours, and whether the kernel may remove them instead of ours. */
const others = {
  'with a mark': [aRule({ from, plain: false }), true],
  'with an incoming device': [aRule({ from, iif: 'lo' }), true],
  'with a destination': [aRule({ from, to: '172.16.0.0/12' }), true],
  'that suppresses routes': [aRule({ from, suppressPrefixLength: 0 }), true],
  'of another priority': [aRule({ from, plain: false, priority: 10_101 }), false],
  'of another table': [aRule({ from, plain: false, table: 101 }), false],
  'of another protocol': [aRule({ from, plain: false, protocol: 3 }), false],
  'of another source': [aRule({ from: '10.100.0.0/25', plain: false }), false],
  'of another family': [aRule({ from, family: 6, plain: false }), false],
} as const

for (const [name, [other, expected]] of Object.entries(others))
  test(`a foreign rule ${name} ${expected ? 'may be' : 'is not'} removed instead of ours`, () => {
    const removed = new Set([ruleKey(ours)])
    assert.equal(removedInstead(ruleSpec(ours), [other, ours], removed), expected ? other : undefined)
  })

test('a rule that is removed too is no foreign rule', () => {
  const second = aRule({ from, to: '172.16.0.0/12' })
  const removed = new Set([ours, second].map(ruleKey))
  assert.equal(removedInstead(ruleSpec(ours), [second, ours], removed), undefined)
})
