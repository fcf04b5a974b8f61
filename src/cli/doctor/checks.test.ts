import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { NodeObject } from '../../kube/types.ts'
import { type ClusterFacts, findingsOf } from './checks.ts'

function aNode(name: string, nodeInfo: object = {}): NodeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { nodeInfo: { systemUUID: `uuid-${name}`, kernelVersion: '6.1.0', ...nodeInfo } },
  }
}

const internal = (...addresses: string[]) => addresses.map(address => ({ type: 'InternalIP', address }))

function aConfig(nodeName: string): NodeConfig {
  const nic = {
    macAddress: 'fa:16:3e:00:00:01',
    address: '10.100.0.10',
    cidr: '10.100.0.0/24',
    addresses: ['fd00::10/64'],
  }
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name: nodeName },
    spec: { nodeName, interfaces: [nic] },
  }
}

const good: ClusterFacts = {
  version: { major: 1, minor: 36 },
  clockAheadMs: 0,
  definitions: [{ name: 'x', known: ['v1'], served: { versions: ['v1'], stored: 'v1', established: true } }],
  workloads: [{ name: 'controller', component: 'controller', account: 'multinic-agent', desired: 2, ready: 2 }],
  rights: [{ account: 'multinic-agent', missing: [] }],
  readiness: [{ name: 'controller', warnings: [] }],
  agentPolicy: 'bound',
  podSecurity: 'privileged',
  nodes: [aNode('a'), aNode('b')],
  configs: [],
  sources: [],
}

test('a healthy cluster has no finding', () => {
  assert.deepEqual(new Set(findingsOf(good, 'ns').map(({ level }) => level)), new Set(['ok']))
})

const cases: Record<string, [facts: Partial<ClusterFacts>, said: string, remedy: RegExp]> = {
  'nodes with ifcfg files': [
    { nodes: [aNode('a', { osImage: 'Rocky Linux 8.9 (Green Obsidian)' }), aNode('b')] },
    'warn 1 of 2 nodes have ifcfg files, which no test of MultiNIC boots: a',
    /reboot one node/,
  ],
  'a cluster that is too old': [
    { version: { major: 1, minor: 19 } },
    'bad Kubernetes 1.19 is too old',
    /1\.20 or newer/,
  ],
  'a clock that is wrong': [
    { clockAheadMs: -90_000 },
    'warn the clock of this machine is 90 s behind the API server',
    /NTP/,
  ],
  'a CRD that is not there': [
    { definitions: [{ name: 'x', known: ['v1'] }] },
    'warn CRD x is not in this cluster',
    /make install/,
  ],
  'a CRD of an older version': [
    {
      definitions: [{ name: 'x', known: ['v1', 'v2'], served: { versions: ['v1'], stored: 'v1', established: true } }],
    },
    'bad CRD x does not serve v2: it is older than this program',
    /helm upgrade/,
  ],
  'a CRD that another version stores': [
    {
      definitions: [{ name: 'x', known: ['v1'], served: { versions: ['v1', 'v2'], stored: 'v2', established: true } }],
    },
    'bad CRD x stores v2, not v1: another version is installed',
    /make install/,
  ],
  'a part that warns': [
    { readiness: [{ name: 'viola-api', warnings: ['anybody may write'] }] },
    'warn viola-api warns: anybody may write',
    /^$/,
  ],
  'a part that could not be asked': [
    { readiness: [{ name: 'viola-api', unknown: 'forbidden' }] },
    'warn cannot read /readyz of viola-api: forbidden',
    /pods\/proxy/,
  ],
  'a part without its rights': [
    { rights: [{ account: 'multinic-agent', missing: ['list nodes (cluster)', 'create jobs'] }] },
    'bad multinic-agent lacks the right to list nodes (cluster), create jobs',
    /helm upgrade/,
  ],
  'rights that could not be asked': [
    { rights: [{ account: 'multinic-agent', unknown: 'forbidden' }] },
    'warn cannot review the rights of multinic-agent: forbidden',
    /subjectaccessreviews/,
  ],
  'a part that is not ready': [
    { workloads: [{ name: 'controller', desired: 2, ready: 1 }] },
    'bad controller: 1 of 2 ready',
    /kubectl -n ns describe deployment controller/,
  ],
  'a namespace that refuses agents': [
    { podSecurity: 'restricted' },
    'bad Pod Security of namespace ns is restricted: the Pods of the agent are refused',
    /kubectl label namespace ns/,
  ],
  'a controller that no policy limits': [
    { agentPolicy: 'unbound' },
    'warn no admission policy limits the Jobs of multinic-agent: its token is root on every node',
    /helm upgrade.*agent-jobs\.yaml/,
  ],
  'an API server without admission policies': [
    { agentPolicy: 'unsupported', version: { major: 1, minor: 29 } },
    'warn no admission policy limits the Jobs of multinic-agent: its token is root on every node',
    /upgrade Kubernetes 1\.29 to 1\.30 or newer.*security\.md/,
  ],
  'policies that are not readable': [
    { agentPolicy: undefined },
    'warn cannot list ValidatingAdmissionPolicies',
    /may list them/,
  ],
  'a machine without an id': [
    { nodes: [aNode('a', { systemUUID: '' })] },
    'bad node a has no SystemUUID',
    /product_uuid/,
  ],
  'two machines with one id': [
    { nodes: [aNode('a', { systemUUID: 'Same' }), aNode('b', { systemUUID: 'same' })] },
    'bad nodes a, b have the same SystemUUID (same)',
    /cloned machine/,
  ],
  'a kernel that is old': [
    { nodes: [aNode('a', { kernelVersion: '3.10.0-1160.el7' })] },
    'warn node a has kernel 3.10.0-1160.el7',
    /kernel 4\.18 or newer/,
  ],
  'a cloud provider that lists the addresses of our NICs': [
    {
      nodes: [
        {
          ...aNode('a'),
          status: { ...aNode('a').status, addresses: internal('10.0.0.1', '10.100.0.10', 'fd00:0::10') },
        },
        { ...aNode('b'), status: { ...aNode('b').status, addresses: internal('10.0.0.2') } },
      ],
      configs: [aConfig('a'), aConfig('b')],
    },
    'warn node a lists addresses of requested NICs as InternalIP: 10.100.0.10 (multinic0), fd00::10 (multinic0)',
    /internal-network-name.*--node-ip/,
  ],
}
for (const [name, [facts, said, remedy]] of Object.entries(cases))
  test(`${name} is reported with a remedy`, () => {
    const found = findingsOf({ ...good, ...facts }, 'ns').filter(({ level }) => level !== 'ok')
    assert.deepEqual(
      found.map(({ level, what }) => `${level} ${what}`),
      [said],
    )
    assert.match(found[0]?.remedy ?? '', remedy)
  })
