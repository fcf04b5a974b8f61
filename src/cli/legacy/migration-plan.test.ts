import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../../contract/node-config.ts'
import { aBiz, aBizNode, aMac } from '../../controller/legacy/biz-config.fixture.ts'
import type { NodeObject } from '../../kube/types.ts'
import { differences, planMigration } from './migration-plan.ts'

const uuid = '6f1c2a10-0001-4aaa-8bbb-000000000001'
/** The same machine ID in the byte order of older firmware. */
const swapped = '102A1C6F-0100-AA4A-8BBB-000000000001'

function aNode(name: string, systemUUID: string): NodeObject {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, status: { nodeInfo: { systemUUID } } }
}

function aNodeConfig(name: string, spec: Partial<NodeConfig['spec']> = {}, status?: NodeConfig['status']): NodeConfig {
  const interfaces = aBizNode(uuid, [1]).interfaces.map((nic, id) => ({ ...nic, id, name: `multinic${id}` }))
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name, namespace: 'multinic-system', generation: 1 },
    spec: { nodeName: name, interfaces, ...spec },
    ...(status && { status }),
  }
}

function planned(configs: NodeConfig[], nodes: NodeObject[] = [aNode('w1', swapped)]): string[] {
  const documents = [{ biz: aBiz({ nodes: [aBizNode(uuid, [1], 'a-hint')] }), inCluster: true }]
  const rows = planMigration({ documents, nodes, configs, namespace: 'multinic-system' })
  return rows.map(({ action, nodeName, message }) => `${action} ${nodeName}: ${message}`)
}

const done = { state: 'Configured' as const, observedGeneration: 1 }
const toCreate = 'create w1: a MultiNicNodeConfig is created and takes over the node'

const cases: Record<string, [configs: NodeConfig[], line: string]> = {
  'a node without a config gets one, under the name of its Node': [[], toCreate],
  'a config of the machine counts, whatever it is called': [
    [aNodeConfig('another', { instanceId: uuid }, done)],
    'done w1: taken over',
  ],
  'a config that names no machine counts by the name of the node': [
    [aNodeConfig('w1', {}, done)],
    'done w1: taken over',
  ],
  'a config of another machine does not, even under that name': [
    [aNodeConfig('w1', { instanceId: 'i-another' }, done)],
    toCreate,
  ],
  'one that is not checked yet is waited for': [[aNodeConfig('w1')], 'wait w1: not checked yet'],
  'a result of an older spec is none': [
    [aNodeConfig('w1', {}, { ...done, observedGeneration: 0 })],
    'wait w1: not checked yet',
  ],
  'a config with another request is skipped': [
    [aNodeConfig('w1', { interfaces: [] }, done)],
    `differs w1: multinic0 (${aMac(1)}) is missing`,
  ],
}

for (const [name, [configs, line]] of Object.entries(cases))
  test(name, () => assert.deepEqual(planned(configs), [line]))

test('a machine ID of two Nodes blocks the migration', () => {
  const both = [aNode('w1', uuid), aNode('w2', uuid)]
  assert.deepEqual(planned([], both), [`blocked w1: w1 and w2 both have the machine ID ${uuid}`])
})

test('differences name the field and both values; additional fields of a config do not count', () => {
  const [nic] = aNodeConfig('w1').spec.interfaces
  assert.ok(nic)
  const richer = aNodeConfig('w1', { interfaces: [{ ...nic, gateway: '192.168.1.1', mtu: 9000 }] })
  assert.deepEqual(differences(aNodeConfig('w1'), richer), [`${aMac(1)}: mtu is 9000, not 1450`])
  const more = aNodeConfig('w1', { interfaces: [nic, { macAddress: aMac(7), id: 5, name: 'multinic5' }] })
  assert.deepEqual(differences(aNodeConfig('w1'), more), [`multinic5 (${aMac(7)}) is additional`])
})
