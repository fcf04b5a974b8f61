/** When a plan is made again: if a value changed that it depends on, and not because it was read again. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import type { Observed } from '../plan/observed-state.ts'
import { aNic, aNode, aPort, observed, vm1 } from '../plan/plan.fixture.ts'
import { createPlanner } from './planner.ts'

const before = observed({
  ports: [aPort(1)],
  delivered: [aNode([aNic(1, 0)])],
  networks: new Map([['n', { id: 'n', name: 'n' }]]),
})
const withStatus = (status: NodeConfigStatus): Partial<Observed> => ({
  delivered: [aNode([aNic(1, 0)], { status })],
})
const interfaceWith = (reason: string): NodeConfigStatus => ({
  interfaceStatuses: [{ id: 0, portId: 'port-1', status: 'Failed', reason }],
})

const cases: Record<string, [change: Partial<Observed>, isPlannedAgain: boolean]> = {
  'equal values': [{}, false],
  'another state of a node': [withStatus({ state: 'Configured', observedGeneration: 1 }), false],
  'an interface that failed': [withStatus(interfaceWith('ApplyFailed')), false],
  'a port that changed': [{ ports: [aPort(1, { status: 'DOWN' })] }, true],
  'another order of ports': [{ ports: [aPort(2), aPort(1)] }, true],
  'another config of a node': [{ delivered: [aNode([aNic(1, 0)], { generation: 2 })] }, true],
  'a node that is gone': [{ delivered: [] }, true],
  'another VM': [{ vms: [vm1, { ...vm1, id: 'vm-2', entry: 'vm-2' }] }, true],
  'another network': [{ networks: new Map([['n', { id: 'n', name: 'n', mtu: 9_000 }]]) }, true],
  'an answer about a missing port': [{ portChecks: new Map([['port-1', 'attached']]) }, true],
  'an address of the Node': [withStatus({ nodeAddresses: ['10.1.0.1'] }), true],
  'an interface that the agent refuses as the primary port': [withStatus(interfaceWith('HasNodeAddress')), true],
}

test('a value that planner.ts does not know yet counts too', () => {
  const planner = createPlanner()
  const first = planner.plan('ns/main', before)
  const changed = Object.assign(structuredClone(before), { added: new Map([['port-1', new Set(['value'])]]) })
  const second = planner.plan('ns/main', changed)
  assert.notEqual(second, first)
  const other = Object.assign(structuredClone(changed), { added: new Map([['port-1', new Set(['other'])]]) })
  assert.notEqual(planner.plan('ns/main', other), second)
})

for (const [name, [change, isPlannedAgain]] of Object.entries(cases))
  test(`${name}: ${isPlannedAgain ? 'a new plan' : 'the last plan'}`, () => {
    const planner = createPlanner()
    const first = planner.plan('ns/main', before)
    assert.equal(planner.plan('ns/main', structuredClone({ ...before, ...change })) !== first, isPlannedAgain)
  })

test('the verdict on a port changes when the agent refuses it as the primary port', () => {
  const planner = createPlanner()
  const reasonOf = (state: Observed) => planner.plan('ns/main', state).verdicts.map(({ reason }) => reason)
  assert.deepEqual(reasonOf(before), ['Selected'])
  assert.deepEqual(reasonOf({ ...before, ...withStatus(interfaceWith('CarriesDefaultRoute')) }), ['PrimaryPort'])
})
