import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bizConfigs } from '../../contract/legacy/biz-config.ts'
import { aConfig, aNode } from '../controller.fixture.ts'
import { warningOf } from './warning.ts'

const listing = aNode({ internalIPs: ['10.0.0.11', '192.168.0.10', '192.168.1.10'] })

test('a Node that lists addresses of requested NICs gets a warning with the remedy', () => {
  assert.deepEqual(warningOf({ config: aConfig(), node: listing }), {
    reason: 'SecondaryInternalIP',
    message:
      'node w1 lists addresses of requested NICs as InternalIP: 192.168.0.10 (multinic0), 192.168.1.10 (multinic1); ' +
      'set internal-network-name in [Networking] of the OpenStack cloud provider, or --node-ip of the kubelet',
  })
})

test('there is no warning without a Node, for other addresses, for a deleted config and for a MultiNicBizConfig', () => {
  assert.equal(warningOf({ config: aConfig() }), undefined)
  assert.equal(warningOf({ config: aConfig(), node: aNode() }), undefined)
  const deleted = aConfig({ metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
  assert.equal(warningOf({ config: deleted, node: listing }), undefined)
  assert.equal(warningOf({ config: { ...aConfig(), kind: bizConfigs.kind }, node: listing }), undefined)
})
