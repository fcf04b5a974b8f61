import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { reasonGroups, reasonText } from '../../src/contract/reasons/catalogue.ts'
import { attentionOf, countsOf, nodeOf, severities } from './nodes.ts'
import { aRecord } from './record.fixture.ts'

type Status = NonNullable<NonNullable<InventoryRecord['interfaces']>[number]['status']>

function nodeWith(status: Status, reason: string) {
  const record = aRecord('n', { 0: { address: '10.0.0.1', status } })
  const remedy = reasonText(reason)?.remedy
  const interfaces = record.interfaces?.map(nic => ({ ...nic, reason, ...(remedy && { remedy }) })) ?? []
  return nodeOf({ ...record, interfaces }, [])
}

test('experience M7: what waits its turn does not need attention, everything else that is stuck does', () => {
  const reasons = Object.entries({ ...reasonGroups.node, ...reasonGroups.interface })
  for (const [reason, { class: kind }] of reasons.filter(
    ([name]) => !['Drifted', 'RemovalHeld', 'Removing'].includes(name),
  ))
    assert.equal(
      attentionOf([nodeWith('Pending', reason)]).length,
      kind === 'normal' || kind === 'progress' ? 0 : 1,
      reason,
    )
  assert.equal(attentionOf([nodeWith('Failed', 'ApplyFailed')]).length, 1)
  assert.equal(attentionOf([nodeWith('Configured', 'Configured')]).length, 0)
})

test('experience M7: the counts of the severities add up to the NICs, each NIC counted once', () => {
  const nodes = (['Pending', 'InProgress', 'Configured', 'Failed'] as const).map(status => nodeWith(status, ''))
  const counts = countsOf(nodes)
  assert.equal(
    severities.reduce((sum, severity) => sum + counts[severity], 0),
    counts.nics,
  )
  assert.equal(attentionOf(nodes).length, counts.failed + counts.drifted + counts.onHold)
})
