import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interfaceHash } from '../../src/contract/interface-hash.ts'
import { completeInterfaces } from '../../src/contract/interfaces.ts'
import type { NodeConfig } from '../../src/contract/node-config.ts'
import type { OpenstackConfig } from '../../src/contract/openstack-config.ts'
import { nextSteps, type ObservedSandbox, sandboxStatus, statusTree } from './status.ts'

const port = { id: 'port-1', macAddress: 'fa:16:3e:00:00:01', subnet: 'storage' }
const nic = {
  id: 0,
  name: 'multinic0',
  portId: 'port-1',
  macAddress: port.macAddress,
  address: '10.10.0.10',
  mtu: 9000,
}

function aConfig(status: NodeConfig['status'], interfaces = [nic], generation = 1): NodeConfig {
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name: 'worker-1', generation },
    spec: { nodeName: 'worker-1', interfaces },
    ...(status && { status }),
  }
}

function aSource(ready: 'True' | 'False', heldRemovals: string[] = []): OpenstackConfig {
  const at = '2026-11-15T00:00:00Z'
  const condition = { type: 'Ready', status: ready, reason: 'Synced', message: '', lastTransitionTime: at }
  return {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { name: 'sandbox', generation: 1 },
    spec: { vmNames: ['vm'], credentials: { openstackProviderID: 'p', projectID: 'f'.repeat(32) } },
    status: { observedGeneration: 1, conditions: [condition], heldRemovals },
  }
}

const configured: NodeConfig['status'] = {
  observedGeneration: 1,
  state: 'Configured',
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'AllInterfacesConfigured',
      message: '',
      lastTransitionTime: '2026-11-15T00:00:00Z',
    },
  ],
  interfaceStatuses: [{ name: 'multinic0', portId: 'port-1', status: 'Configured' }],
}

const [completed] = completeInterfaces([nic]).interfaces
const configuredWithHash: NodeConfig['status'] = {
  ...configured,
  interfaceStatuses: [
    {
      ...{ name: 'multinic0', portId: 'port-1', status: 'Configured' },
      specHash: interfaceHash(completed ?? assert.fail('no interface')),
    },
  ],
}
const secondPort = { id: 'port-2', macAddress: 'fa:16:3e:00:00:02', subnet: 'storage' }
const secondNic = {
  ...nic,
  id: 1,
  name: 'multinic1',
  portId: secondPort.id,
  macAddress: secondPort.macAddress,
  address: '10.10.0.11',
}

interface Given {
  ports?: (typeof port)[]
  configs?: NodeConfig[]
  source?: OpenstackConfig
  failure?: string
}

const cases: Record<string, [given: Given, tree: string]> = {
  'a node without ports is ready': [{ ports: [], configs: [] }, 'sandbox ready\n└─ worker-1  no ports attached'],
  'a port without a MultiNicNodeConfig is shown as new': [
    { configs: [] },
    'sandbox not ready yet\n└─ worker-1  waiting for the operator\n   └─ new port   Attached                                fa:16:3e:00:00:01  storage',
  ],
  'a configured interface is shown with its address and MTU': [
    { configs: [aConfig(configured)] },
    'sandbox ready\n└─ worker-1  Configured\n   └─ multinic0  Configured  10.10.0.10       mtu 9000   fa:16:3e:00:00:01  storage',
  ],
  'a status of an older generation is ignored': [
    { configs: [aConfig(configured, [nic], 2)] },
    'sandbox not ready yet\n└─ worker-1  Pending\n   └─ multinic0  Pending     10.10.0.10       mtu 9000   fa:16:3e:00:00:01  storage',
  ],
  'an interface stays Configured while another one is added': [
    { ports: [port, secondPort], configs: [aConfig(configuredWithHash, [nic, secondNic], 2)] },
    [
      'sandbox not ready yet',
      '└─ worker-1  Pending',
      '   ├─ multinic0  Configured  10.10.0.10       mtu 9000   fa:16:3e:00:00:01  storage',
      '   └─ multinic1  Pending     10.10.0.11       mtu 9000   fa:16:3e:00:00:02  storage',
    ].join('\n'),
  ],
  'an interface whose port is gone is shown as Removing': [
    { ports: [], configs: [aConfig(configured)] },
    'sandbox not ready yet\n└─ worker-1  Configured\n   └─ multinic0  Removing    10.10.0.10       mtu 9000   fa:16:3e:00:00:01',
  ],
  'a node whose reboot failed is down, whatever its MultiNicNodeConfig still says': [
    { configs: [aConfig(configured)], failure: 'Device or resource busy' },
    'sandbox not ready yet\n└─ worker-1  Down  reboot failed: Device or resource busy\n   └─ new port   Unknown                                 fa:16:3e:00:00:01  storage',
  ],
  'a node without ports whose reboot failed is down too': [
    { ports: [], failure: 'no space left on device' },
    'sandbox not ready yet\n└─ worker-1  Down  reboot failed: no space left on device',
  ],
  'the sandbox is not ready while an OpenstackConfig is not synced': [
    { ports: [], configs: [], source: aSource('False') },
    'sandbox not ready yet\n└─ worker-1  no ports attached',
  ],
}

function observed({ ports = [port], configs = [], source = aSource('True'), failure }: Given): ObservedSandbox {
  return {
    nodes: [{ name: 'worker-1', ports, failure }],
    nodeConfigs: configs,
    openstackConfigs: [source],
    kubeconfigs: { management: 'm', biz: 'b' },
    tokenFile: 't',
    urls: {},
    unreachable: [],
    faults: [],
    host: 'namespaces',
  }
}

for (const [name, [given, tree]] of Object.entries(cases))
  test(name, () => assert.equal(statusTree(sandboxStatus(observed(given))), tree))

test('a removal on hold shows the command that approves it', () => {
  const source = aSource('True', ['worker-1 multinic0 (port port-1)'])
  const { nodes } = sandboxStatus(observed({ ports: [], configs: [aConfig(configured)], source }))
  assert.equal(nodes[0]?.interfaces[0]?.status, 'OnHold')
  assert.match(nodes[0]?.interfaces[0]?.message ?? '', /annotate osc .*multinic\.io\/approve-removals=/)
})

test('simulated nodes have no shell, so none is suggested', () => {
  const status = sandboxStatus(observed({ configs: [aConfig(configured)] }))
  assert.match(nextSteps(status, 'multinic'), /multinic sandbox shell worker-1\n/)
  assert.doesNotMatch(nextSteps({ ...status, host: 'simulated' }, 'multinic'), /shell/)
})

test('the tree of many nodes shows the first ones, those not Configured, and a count of the rest', () => {
  const { nodes, ...rest } = sandboxStatus(observed({ configs: [aConfig(configured)] }))
  const [node] = nodes
  assert.ok(node)
  const many = Array.from({ length: 500 }, (_, index) => ({ ...node, name: `worker-${index + 1}`, interfaces: [] }))
  const late = many.map((each, index) => (index === 400 ? { ...each, state: 'Failed', reason: 'NicMissing' } : each))
  assert.deepEqual(statusTree({ ...rest, host: 'simulated', nodes: late }).split('\n'), [
    'sandbox ready (simulated)',
    ...['├─ worker-1  no interfaces', '├─ worker-2  no interfaces', '├─ worker-3  no interfaces'],
    '├─ worker-401  Failed  NicMissing',
    '└─ 496 more  496 Configured',
  ])
})
