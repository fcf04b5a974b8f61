import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { bootFilesOf } from './boot-files.ts'
import { deviationsIn } from './deviations.ts'
import { nodeOf } from './nodes.ts'
import { unverifiedIn } from './observations.ts'
import { aRecord } from './record.fixture.ts'

type State = NonNullable<InventoryRecord['interfaces']>[number]

const now = Date.parse('2026-01-31T10:00:00Z')

function nodeWith(state: State) {
  const record = aRecord('n', { 0: { address: '10.0.0.1', status: 'Configured' } })
  return nodeOf({ ...record, interfaces: (record.interfaces ?? []).map(nic => ({ ...nic, ...state })) }, [])
}

const cases: Record<string, [State, string[]]> = {
  'a NIC that was observed in time is vouched for': [{ lastChecked: '2026-01-31T08:00:00Z' }, []],
  'a NIC that nobody has observed in time is not': [{ lastChecked: '2026-01-31T07:59:59Z' }, ['configured unverified']],
  'the interval of the cluster counts': [{ lastChecked: '2026-01-31T07:00:00Z', checkIntervalSeconds: 10_000 }, []],
  'a NIC that waits is listed with its wait': [
    { lastChecked: '2026-01-31T09:59:00Z', pending: { reason: 'RolloutWaiting', message: 'm' } },
    ['pending RolloutWaiting'],
  ],
  'a NIC that failed is listed with its reason': [
    { lastChecked: '2026-01-31T09:59:00Z', status: 'Failed', reason: 'LinkDown' },
    ['failed LinkDown'],
  ],
}
for (const [name, [state, expected]] of Object.entries(cases))
  test(`experience H6: ${name}`, () => {
    const nodes = [nodeWith(state)]
    const shown = deviationsIn(nodes, now).map(({ nic, reason, isUnverified }) =>
      [nic.severity, reason, isUnverified && 'unverified'].filter(Boolean).join(' '),
    )
    assert.deepEqual(shown, expected)
    assert.equal(unverifiedIn(nodes, now).length, expected.filter(text => text.endsWith('unverified')).length)
  })

test('the boot files are equal where the agent verified them, and differ where its check names a file', () => {
  const observed = { mtu: 1500 }
  const files = (state: State) => nodeWith({ observed, ...state }).nics.map(bootFilesOf)[0]
  assert.equal(files({}), 'equal')
  assert.equal(files({ pending: { reason: 'Paused', message: '' } }), 'equal')
  const drifted = { status: 'Failed', reason: 'Drifted' } as const
  assert.equal(files({ ...drifted, message: 'mtu 1500 to 9000' }), 'equal')
  assert.equal(files({ ...drifted, message: 'rewrite /etc/netplan/91-multinic0.yaml' }), 'differ')
  assert.equal(files({ status: 'Failed', reason: 'CommandFailed' }), undefined)
  assert.equal(nodeWith({}).nics.map(bootFilesOf)[0], undefined)
})
