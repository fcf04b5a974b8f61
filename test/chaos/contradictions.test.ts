/** The state-machine test detects a surface that contradicts the kernel: each case plants one lie. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { statusOf } from '../../src/cli/status.ts'
import { nodesAbout } from '../../src/cli/why.ts'
import { deviationsOf } from '../../src/contract/deviations.ts'
import type { HistoryEntry, InventoryRecord } from '../../src/contract/inventory.ts'
import type { InterfaceStatus, NodeConfig } from '../../src/contract/node-config.ts'
import type { EventObject } from '../../src/kube/types.ts'
import { nodeOf } from '../../web/model/nodes.ts'
import { portsOf } from '../../web/model/ports.ts'
import type { NicState } from '../system/sandbox.fixture.ts'
import { contradictions, impossibilities } from './contradictions.ts'
import type { Surfaces } from './surfaces.ts'

const at = Date.parse('2026-01-01T01:00:00Z')
const [mac, checked] = ['02:00:00:00:00:01', '2026-01-01T00:30:00Z']
const portId = 'port-1'
const wanted = {
  id: 0,
  name: 'multinic0',
  portId,
  macAddress: mac,
  address: '10.10.0.10',
  cidr: '10.10.0.0/24',
  mtu: 9_000,
}
const nic: InterfaceStatus = {
  ...{ id: 0, name: 'multinic0', portId, macAddress: mac, reason: 'Configured', lastChecked: checked },
  status: 'Configured',
  observed: { name: 'multinic0', mtu: 9_000, addresses: ['10.10.0.10/24'], link: 'up' },
}
const kernelNow: NicState = { name: 'multinic0', macAddress: mac, mtu: 9_000, up: true, addresses: ['10.10.0.10/24'] }

const conditions = Object.entries({ Ready: true, Progressing: false, Degraded: false }).map(([type, value]) => ({
  ...{ type, status: value ? ('True' as const) : ('False' as const), reason: 'AllInterfacesConfigured', message: '' },
  lastTransitionTime: checked,
}))

interface Lie {
  kernel?: Partial<NicState>
  inConfig?: object
  nics?: string
  inInventory?: object
  /** Replaces what a surface says. */
  said?: Partial<Surfaces>
}

function surfacesWith(lie: Lie = {}): Surfaces {
  const stages = { seen: '2026-01-01T00:00:00Z', verified: '2026-01-01T00:00:01Z' }
  const config: NodeConfig = {
    ...{ apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata: { name: 'w1' } },
    spec: { nodeName: 'w1', interfaces: [wanted] },
    status: {
      ...{ nics: lie.nics ?? '1/1', state: 'Configured', conditions, interfaceStatuses: [{ ...nic, ...lie.inConfig }] },
    },
  }
  const record: InventoryRecord = {
    ...{
      providerId: 'p1',
      nodeName: 'w1',
      reason: 'AllInterfacesConfigured',
      instanceId: 'vm-1',
      lastConfigHash: '',
      updatedAt: checked,
    },
    config: { nodeName: 'w1', interfaces: [wanted] },
    state: 'Configured',
    interfaces: [{ ...nic, stages, ...lie.inInventory }],
  }
  const deviations = deviationsOf(record)
  const status = statusOf([record], new Date(at))[0]?.configs[0]?.nodes[0]
  const kernel = [{ ...kernelNow, ...lie.kernel }]
  const state = record.interfaces?.[0]?.status ?? 'Pending'
  const text = {
    status: `   └─ ● multinic0  ${state}  10.10.0.10/24`,
    check: deviations.map(one => `w1  ${one.interface}  ${one.status}`).join('\n'),
  }
  const dashboard = nodeOf(record, deviations)
  const entry: HistoryEntry = { id: 1, at: checked, what: 'created', why: 'a port was attached', after: record }
  const condition = { type: 'MultiNicReady', status: 'True', reason: 'AllInterfacesConfigured' } as const
  const portView = { ...wanted, status: 'Configured', subnet: 'storage' }
  return {
    ...{ vm: 'w1', at, kernel, config, record, deviations, check: deviations, status, dashboard },
    columns: { Node: 'w1', State: 'Configured', NICs: '1/1', Reason: 'AllInterfacesConfigured' },
    node: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' }, status: { conditions: [condition] } },
    events: [anEvent('AllInterfacesConfigured', 'Normal')],
    ...{ newest: entry, streamed: entry },
    why: nodesAbout('w1', [record], new Date(at))[0],
    exported: [{ macAddress: mac, status: state }],
    found: [{ value: portId, nodeName: 'w1', interface: 'multinic0', status: state }],
    owners: [`${portId} w1 multinic0`],
    texts: { en: text, ko: text },
    ports: portsOf([], [dashboard]),
    sandbox: { name: 'w1', state: 'Configured', interfaces: [portView] },
    ...lie.said,
  }
}

function anEvent(reason: string, type: 'Normal' | 'Warning'): EventObject {
  const involvedObject = { kind: 'MultiNicNodeConfig', name: 'w1' }
  const metadata = { name: reason }
  return {
    apiVersion: 'v1',
    kind: 'Event',
    metadata,
    involvedObject,
    type,
    reason,
    message: '',
    lastTimestamp: checked,
  }
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
  'the columns of kubectl are of another time': [
    { said: { columns: { Node: 'w1', State: 'InProgress', NICs: '0/1', Reason: 'Applying' } } },
    /the columns of kubectl: .*0\/1.*expected.*1\/1/,
  ],
  'the newest Event is about a failure': [
    { said: { events: [anEvent('NicMissing', 'Warning')] } },
    /the Events: \[false,\["NicMissing Warning"\]\]/,
  ],
  'an Event has the wrong type': [
    { said: { events: [anEvent('AllInterfacesConfigured', 'Warning')] } },
    /the Events: .*AllInterfacesConfigured Warning.*expected.*AllInterfacesConfigured Normal/,
  ],
  'the Node has another condition': [
    { said: { node: undefined } },
    /the condition of the Node: .*expected \["True","AllInterfacesConfigured"\]/,
  ],
  'only the Korean text of a command is wrong': [
    {
      said: { texts: { ...surfacesWith().texts, ko: { status: '└─ ○ multinic0  Pending  10.10.0.10/24', check: '' } } },
    },
    /^multinic0: the Korean text of multinic status says not as requested; ip says \{[^\n]*\}$/,
  ],
  'the sandbox calls a healthy NIC Pending': [
    { said: { sandbox: { name: 'w1', state: 'Configured', interfaces: [] } } },
    /sandbox status says not as requested/,
  ],
  'a port is missing on the screen of ports': [
    { said: { ports: [] } },
    /the ports of the dashboard says not as requested/,
  ],
  'the change feed is behind': [{ said: { newest: undefined } }, /the change feed says not as requested/],
  'the stream sends another entry': [{ said: { streamed: undefined } }, /the stream of changes/],
  'a search finds the port on another node': [
    { said: { found: [{ value: portId, nodeName: 'w2', interface: 'multinic0', status: 'Configured' }] } },
    /the owners of ports: .*w2.*expected.*w1/,
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
