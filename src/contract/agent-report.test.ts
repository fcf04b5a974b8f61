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

test('a report of an older agent, with mac and bootId, is read under the current names', () => {
  const old = { ...report, bootId: 'boot-1', interfaces: [{ ...nic, mac: 'fa:16:3e:00:00:01' }] }
  const { bootID, interfaces } = agentReport.parse(old)
  assert.deepEqual([bootID, interfaces[0]?.macAddress], ['boot-1', 'fa:16:3e:00:00:01'])
})

test('the current names win over the older ones', () => {
  const both = {
    ...report,
    ...{ bootID: 'new', bootId: 'old' },
    interfaces: [{ ...nic, macAddress: 'fa:16:3e:00:00:01', mac: 'fa:16:3e:00:00:02' }],
  }
  const { bootID, interfaces } = agentReport.parse(both)
  assert.deepEqual([bootID, interfaces[0]?.macAddress], ['new', 'fa:16:3e:00:00:01'])
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
