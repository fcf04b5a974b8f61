/** The state-machine test detects a surface that contradicts the kernel: each case plants one lie. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusOf } from '../../src/cli/status.ts'
import { deviationsOf } from '../../src/contract/deviations.ts'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import type { InterfaceStatus, NodeConfig } from '../../src/contract/node-config.ts'
import { nodeOf } from '../../web/model/nodes.ts'
import type { NicState } from '../system/sandbox.fixture.ts'
import { contradictions, impossibilities, type Surfaces } from './surfaces.ts'

const at = Date.parse('2026-01-01T01:00:00Z')
const [mac, checked] = ['02:00:00:00:00:01', '2026-01-01T00:30:00Z']
const wanted = { id: 0, name: 'multinic0', macAddress: mac, address: '10.10.0.10', cidr: '10.10.0.0/24', mtu: 9_000 }
const nic: InterfaceStatus = {
  ...{ id: 0, name: 'multinic0', macAddress: mac, reason: 'Configured', lastChecked: checked },
  status: 'Configured',
  observed: { name: 'multinic0', mtu: 9_000, addresses: ['10.10.0.10/24'], link: 'up' },
}
const kernelNow: NicState = { name: 'multinic0', macAddress: mac, mtu: 9_000, up: true, addresses: ['10.10.0.10/24'] }

interface Lie {
  kernel?: Partial<NicState>
  inConfig?: object
  nics?: string
  inInventory?: object
}

function surfacesWith(lie: Lie = {}): Surfaces {
  const stages = { seen: '2026-01-01T00:00:00Z', verified: '2026-01-01T00:00:01Z' }
  const config: NodeConfig = {
    ...{ apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata: { name: 'w1' } },
    spec: { nodeName: 'w1', interfaces: [wanted] },
    status: { nics: lie.nics ?? '1/1', interfaceStatuses: [{ ...nic, ...lie.inConfig }] },
  }
  const record: InventoryRecord = {
    ...{ providerId: 'p1', nodeName: 'w1', instanceId: 'vm-1', lastConfigHash: '', updatedAt: checked },
    config: { nodeName: 'w1', interfaces: [wanted] },
    state: 'Configured',
    interfaces: [{ ...nic, stages, ...lie.inInventory }],
  }
  const deviations = deviationsOf(record)
  const status = statusOf([record], new Date(at))[0]?.configs[0]?.nodes[0]
  const kernel = [{ ...kernelNow, ...lie.kernel }]
  return { at, kernel, config, record, deviations, check: deviations, status, dashboard: nodeOf(record, deviations) }
}

const later = '2026-01-01T00:40:00Z'
const lies: Record<string, [Lie, RegExp]> = {
  'somebody changed the MTU': [{ kernel: { mtu: 1_300 } }, /the CR says as requested; ip says .*1300/],
  'somebody removed the address': [{ kernel: { addresses: [] } }, /multinic check says as requested/],
  'somebody set the link down': [{ kernel: { up: false } }, /the dashboard says as requested/],
  'somebody renamed the NIC': [{ kernel: { name: 'eth7' } }, /multinic status says as requested/],
  'the NIC is gone': [
    { kernel: { macAddress: '02:00:00:00:00:99' } },
    /the inventory says as requested; ip says "no such/,
  ],
  'a healthy NIC is Pending in the CR': [{ inConfig: { status: 'Pending' } }, /the CR says not as requested/],
  'a healthy NIC waits': [{ inConfig: { pending: { reason: 'Paused', message: '' } } }, /the CR says not as requested/],
  'a healthy NIC is Failed in the inventory': [
    { inInventory: { status: 'Failed' } },
    /the inventory says not as requested.*the list of deviations says not.*multinic status says not.*multinic check says not.*the dashboard says not/s,
  ],
  'observed values are invented': [
    { inInventory: { observed: { ...nic.observed, mtu: 1_234 } } },
    /the inventory observed .*1234.*the dashboard observed/s,
  ],
  'the count of the CR is wrong': [{ nics: '0/1' }, /the NICs of the CR are 0\/1, expected 1\/1/],
  'a stage is before the previous one': [
    { inInventory: { stages: { seen: later, verified: checked } } },
    /stages in the order/,
  ],
  'the inventory is ahead of the CR': [
    { inInventory: { lastChecked: later } },
    /an observation that the CR does not have/,
  ],
  'a check is in the future': [
    { inConfig: { lastChecked: '2027-01-01T00:00:00Z' } },
    /the CR was checked in the future/,
  ],
}

test('surfaces that agree with the kernel do not contradict it', () => {
  assert.deepEqual([...contradictions(surfacesWith()), ...impossibilities(surfacesWith())], [])
})

for (const [what, [lie, expected]] of Object.entries(lies))
  test(`a contradiction is found: ${what}`, () => {
    const surfaces = surfacesWith(lie)
    assert.match([...contradictions(surfaces), ...impossibilities(surfaces)].join('\n'), expected)
  })
