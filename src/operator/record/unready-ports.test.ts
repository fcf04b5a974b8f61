/** How long a port is not ready: the input of the alert MultiNicPortNotReady. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { DeliveredNode } from '../plan/observed-state.ts'
import { aNic, aNode, aPort, observed, outside } from '../plan/plan.fixture.ts'
import { planNodes } from '../plan/plan.ts'
import { stateOf } from './sync-outcome.ts'
import { createUnreadyPorts, undelivered, unreadyPorts } from './unready-ports.ts'

test('the longest waiting port counts until it is ready or no longer selected', () => {
  let seconds = 0
  const ports = createUnreadyPorts(() => new Date(seconds * 1_000))
  ports.update('a/a', ['one'])
  seconds = 100
  ports.update('a/a', ['one', 'two'])
  ports.update('b/b', [])
  seconds = 250
  assert.deepEqual([ports.oldestSeconds('a/a'), ports.oldestSeconds('b/b')], [250, 0])
  ports.update('a/a', ['two'])
  assert.equal(ports.oldestSeconds('a/a'), 150)
  ports.update('a/a', ['one', 'two'])
  assert.equal(ports.oldestSeconds('a/a'), 150)
  ports.forget('a/a')
  assert.deepEqual([...ports.configs()], ['b/b'])
})

/** Ports 1 and 2 of worker-1 are selected, and port 9 is on another subnet. */
function unreadyWith(delivered: DeliveredNode[]): string[] {
  const state = observed({ ports: [aPort(1), aPort(2), outside(9)], delivered })
  const plan = planNodes(state)
  const nodes = delivered.flatMap(node => plan.nodes.slice(0, 1).map(one => ({ node, plan: one })))
  return unreadyPorts({ verdicts: plan.verdicts, nodes: delivered.map(stateOf) }, { observed: state, nodes })
}

const both = [aNic(1, 0), aNic(2, 1)]
const configured = { id: 0, portId: 'port-1', status: 'Configured' as const }
const failed = { id: 1, portId: 'port-2', status: 'Failed' as const }

const cases: Record<string, [delivered: DeliveredNode[], unready: string[]]> = {
  'ports that are not delivered': [[], ['port-1', 'port-2']],
  'a port that is not delivered yet, on a node that is configured': [
    [aNode([aNic(1, 0)], { generation: 1, status: { state: 'Configured', observedGeneration: 1 } })],
    ['port-2'],
  ],
  'ports of a node without a status': [[aNode(both)], ['port-1', 'port-2']],
  'ports of a node with the status of an older generation': [
    [aNode(both, { generation: 2, status: { state: 'Configured', observedGeneration: 1 } })],
    ['port-1', 'port-2'],
  ],
  'the failed port of a node': [
    [
      aNode(both, {
        generation: 1,
        status: { state: 'Failed', observedGeneration: 1, interfaceStatuses: [configured, failed] },
      }),
    ],
    ['port-2'],
  ],
  'no port of a configured node': [
    [aNode(both, { generation: 1, status: { state: 'Configured', observedGeneration: 1 } })],
    [],
  ],
}
for (const [name, [delivered, unready]] of Object.entries(cases))
  test(`not ready: ${name}`, () => assert.deepEqual(unreadyWith(delivered), unready))

test('a port that no node has is not delivered', () => {
  const ports = [aPort(1), outside(9)]
  assert.deepEqual(undelivered({ ports, delivered: [aNode([aNic(1, 0)])] }), ['port-9'])
  assert.deepEqual(undelivered({ ports: [aPort(1)], delivered: [] }), ['port-1'])
})
