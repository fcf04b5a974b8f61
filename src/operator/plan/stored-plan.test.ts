import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxStoredPlanEntries, storedPlan } from '../../contract/operator-api.ts'
import type { NodePlan } from './plan.ts'
import { storedPlanOf } from './stored-plan.ts'

const node = (index: number, action: NodePlan['action']): NodePlan => ({
  ...{
    nodeName: `node-${index}`,
    instanceId: `vm-${index}`,
    action,
    interfaces: [],
    why: ['a port is new'],
    expectedSpecHash: 'h',
  },
})

test('the stored plan lists the nodes that change, and counts the others', () => {
  const nodes = [node(1, 'send'), node(2, 'keep'), node(3, 'remove'), node(4, 'keep')]
  const plan = storedPlanOf({ nodes, removalsOnHold: ['node-3: port-1'], moves: [] })
  assert.deepEqual(
    plan.nodes.map(({ nodeName, action }) => `${nodeName} ${action}`),
    ['node-1 send', 'node-3 remove'],
  )
  assert.deepEqual([plan.unchanged, plan.heldRemovals, plan.omitted], [2, ['node-3: port-1'], 0])
})

test('a plan of any size is stored within limits', () => {
  const many = Array.from({ length: 5_000 }, (_, index) => index)
  const plan = storedPlanOf({
    nodes: many.map(index => node(index, 'send')),
    removalsOnHold: many.map(index => `node-${index}: port`),
    moves: many.map(index => ({ nodeName: `node-${index}`, portId: 'p', from: 'multinic0', to: 'multinic1' })),
  })
  assert.deepEqual(
    [plan.nodes, plan.heldRemovals, plan.moves].map(list => list.length),
    Array(3).fill(maxStoredPlanEntries),
  )
  assert.equal(plan.omitted, 3 * (5_000 - maxStoredPlanEntries))
  assert.ok(storedPlan.safeParse(plan).success)
})
