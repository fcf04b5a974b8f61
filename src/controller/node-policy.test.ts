/** The policies of Nodes and fields that no version of Kubernetes has yet: a real API server would drop these fields. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Environment } from '@marcbachmann/cel-js'
import type { Policy } from '../contract/admission.ts'
import { nodeLabelsPolicy } from './networks/node-labels-policy.ts'
import { nodeConditionPolicy } from './node-condition-policy.ts'

const environment = new Environment({ unlistedVariablesAreDyn: true, enableOptionalTypes: true })

function admits({ spec }: Policy, oldObject: object, object: object): boolean {
  const [{ expression }] = spec['validations'] as [{ expression: string }]
  return environment.evaluate(expression, { object, oldObject }) === true
}

const node = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'w1', labels: { zone: 'z' }, managedFields: [{ manager: 'kubelet' }] },
  spec: { podCIDR: '10.9.0.0/24' },
  status: { capacity: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] },
}
const future = { futureField: { enabled: true } }
const ownCondition = { type: 'MultiNicReady', status: 'True' }
const ownLabel = { 'network.multinic.io/storage': 'ready' }
const conditionSet = { ...node, status: { ...node.status, conditions: [...node.status.conditions, ownCondition] } }
const labelled = { ...node, metadata: { ...node.metadata, labels: { zone: 'z', ...ownLabel }, managedFields: [] } }

for (const [name, policy, allowed] of [
  ['NODE_CONDITION', nodeConditionPolicy, conditionSet],
  ['NODE_LABELS', nodeLabelsPolicy, labelled],
] as const) {
  test(`the policy for ${name} admits what the controller does`, () => {
    assert.equal(admits(policy, node, allowed), true)
    assert.equal(admits(policy, allowed, node), true)
  })

  test(`the policy for ${name} does not admit a change of a field that Kubernetes does not have yet`, () => {
    const changed = {
      Node: { ...allowed, ...future },
      metadata: { ...allowed, metadata: { ...allowed.metadata, ...future } },
      spec: { ...allowed, spec: { ...allowed.spec, ...future } },
      status: { ...allowed, status: { ...allowed.status, ...future } },
    }
    for (const [part, object] of Object.entries(changed)) {
      assert.equal(admits(policy, node, object), false, `added to ${part}`)
      assert.equal(admits(policy, object, allowed), false, `removed from ${part}`)
      assert.equal(admits(policy, object, object), true, `kept in ${part}`)
    }
  })
}
