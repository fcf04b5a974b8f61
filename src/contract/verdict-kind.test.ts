import assert from 'node:assert/strict'
import { test } from 'node:test'
import { undeliveredIn, verdictKind } from './verdict-kind.ts'

const kinds = {
  Selected: 'selected',
  RemovalUnconfirmed: 'selected',
  SubnetNameReused: 'selected',
  PrimaryPort: 'notManaged',
  NotSelected: 'notManaged',
  SelectedByOther: 'notManaged',
  NodeNotSelected: 'notManaged',
  PortNotBound: 'ignored',
  'a reason of a newer operator': 'ignored',
}

for (const [reason, kind] of Object.entries(kinds))
  test(`a port with the verdict ${reason} is ${kind}`, () => assert.equal(verdictKind(reason), kind))

test('a selected port that no node has is not delivered', () => {
  const verdicts = [
    { portId: 'delivered', reason: 'Selected' },
    { portId: 'missing', reason: 'Selected' },
    { portId: 'ignored', reason: 'PortNotBound' },
    { portId: 'primary', reason: 'PrimaryPort' },
    { reason: 'Selected' },
  ]
  assert.deepEqual(undeliveredIn(verdicts, ['delivered', undefined, 'other']), [
    { portId: 'missing', reason: 'Selected' },
  ])
  assert.deepEqual(undeliveredIn(verdicts, ['delivered', 'missing']), [])
})
