import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentReport } from './agent-report.ts'

const report = {
  version: 1,
  node: 'worker-1',
  mode: 'apply',
  generation: 3,
  specHash: 'h',
  verdict: 'Configured',
  reason: 'AllInterfacesConfigured',
  message: '',
  changed: 0,
  removed: [],
  undone: [],
  timings: {},
}
const nic = { id: 0, name: 'multinic0', status: 'Configured', reason: 'Configured' }

test('a whole report is read as it is', () => {
  const whole = {
    ...{ ...report, changed: 3, removed: ['multinic1'], undone: ['multinic2'], timings: { observe: 12.5 } },
    ...{ bootID: 'boot-1', traceId: 'trace-1', backend: { kind: 'netplan', because: ['/etc/netplan exists'] } },
    interfaces: [
      {
        ...{ id: 9, name: 'multinic9', macAddress: 'fa:16:3e:00:00:09', portId: 'port-9', status: 'Failed' },
        ...{ reason: 'InterfaceNameInUse', message: 'eth9 has the name', changed: 2 },
        observed: { name: 'eth9', ifindex: 4, mtu: 1450, addresses: ['10.0.0.9/24'], link: 'up' },
      },
    ],
  }
  assert.deepEqual(agentReport.parse(whole), whole)
  const least = { ...report, interfaces: [] }
  assert.deepEqual(agentReport.parse(least), least)
})

test('another version, and numbers outside their range, are refused', () => {
  const least = { ...nic, macAddress: 'fa:16:3e:00:00:01' }
  const whole = { ...report, interfaces: [least] }
  assert.equal(agentReport.safeParse(whole).success, true)
  for (const broken of [
    { ...whole, version: 2 },
    { ...whole, generation: -1 },
    { ...whole, changed: -1 },
    { ...whole, interfaces: [{ ...least, id: -1 }] },
    { ...whole, interfaces: [{ ...least, id: 10 }] },
    { ...whole, interfaces: [{ ...least, changed: -1 }] },
  ])
    assert.equal(agentReport.safeParse(broken).success, false, JSON.stringify(broken))
})

for (const broken of [
  null,
  [],
  'x',
  { ...report, interfaces: [null] },
  { ...report, interfaces: [nic] },
  { interfaces: 3 },
])
  test(`a report that is not one is refused: ${JSON.stringify(broken).slice(-40)}`, () => {
    assert.equal(agentReport.safeParse(broken).success, false)
  })
