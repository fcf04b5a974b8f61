import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import type { NodeConfig } from '../../contract/node-config.ts'
import { type OpenstackConfig, openstackConfigFinalizer } from '../../contract/openstack-config.ts'
import { unexpectedWay } from '../../contract/routing-messages.ts'
import type { NodeObject } from '../../kube/types.ts'
import { type ClusterFacts, findingsOf, type SecretAccess } from './checks.ts'

function aNode(name: string, nodeInfo: object = {}): NodeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: { nodeInfo: { systemUUID: `uuid-${name}`, kernelVersion: '6.1.0', ...nodeInfo } },
  }
}

const internal = (...addresses: string[]) => addresses.map(address => ({ type: 'InternalIP', address }))

/** With a status of the controller. */
function aStuck(name: string, state: 'Failed' | 'InProgress' | 'Pending', reason: string, message: string): NodeConfig {
  const ready = { type: 'Ready', status: 'False', reason, message, lastTransitionTime: '2026-01-01T10:00:00Z' } as const
  return { ...aConfig(name), status: { observedGeneration: 1, state, conditions: [ready] } }
}

/** Configured, and observed that many hours before ten o'clock. */
function aChecked(name: string, hoursAgo: number): NodeConfig {
  const lastChecked = `2026-01-01T0${10 - hoursAgo}:00:00Z`
  const interfaceStatuses = [{ id: 0, status: 'Configured' as const, lastChecked }]
  const status = { observedGeneration: 1, state: 'Configured' as const, checkIntervalSeconds: 3_600 }
  return { ...aConfig(name), status: { ...status, interfaceStatuses } }
}

const way = unexpectedWay({ from: '10.1.0.5', to: '192.0.2.1' }, 'wg0, table 51820', 'multinic1')

function aReported(name: string, status: 'Configured' | 'Failed', message: string): NodeConfig {
  return { ...aConfig(name), status: { interfaceStatuses: [{ id: 1, status, message }] } }
}

function aSource(
  reason: string,
  message: string,
  other?: { type: string; status: 'True' | 'False'; reason: string },
  nextSyncAt = new Date(Date.now() + 60_000).toISOString(),
): OpenstackConfig {
  const lastTransitionTime = '2026-01-01T10:00:00Z'
  const status = reason === 'Synced' ? 'True' : 'False'
  const conditions = [{ type: 'Ready', status, reason, message }, ...(other ? [{ ...other, message: '' }] : [])]
  return {
    apiVersion: 'multinic.example.com/v1alpha1',
    kind: 'OpenstackConfig',
    metadata: { namespace: 'ns', name: 'main' },
    spec: { vmNames: ['a'], credentials: { openstackProviderID: 'p', projectID: '0'.repeat(32) } },
    status: {
      conditions: conditions.map(one => ({ ...one, lastTransitionTime })) as NonNullable<
        OpenstackConfig['status']
      >['conditions'],
      lastSyncedAt: lastTransitionTime,
      nextSyncAt,
    },
  }
}

const pending = { type: 'RemovalPending', status: 'True', reason: 'RemovalPending' } as const

function aDeleted(source: OpenstackConfig, ...finalizers: string[]): OpenstackConfig {
  return { ...source, metadata: { ...source.metadata, deletionTimestamp: '2026-01-01T10:00:00Z', finalizers } }
}

function aConfig(nodeName: string, secondsAgo = 0): NodeConfig {
  const nic = {
    macAddress: 'fa:16:3e:00:00:01',
    address: '10.100.0.10',
    cidr: '10.100.0.0/24',
    addresses: ['fd00::10/64'],
  }
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: { name: nodeName, creationTimestamp: new Date(Date.now() - secondsAgo * 1_000).toISOString() },
    spec: { nodeName, interfaces: [nic] },
  }
}

const operatorAccess: SecretAccess = {
  account: 'multinic-operator',
  all: false,
  others: [],
  writes: true,
  policy: 'bound',
}

const good: ClusterFacts = {
  version: { major: 1, minor: 36 },
  clockAheadMs: 0,
  definitions: [{ name: 'x', known: ['v1'], served: { versions: ['v1'], stored: 'v1', established: true } }],
  workloads: [{ name: 'controller', component: 'controller', account: 'multinic-agent', desired: 2, ready: 2 }],
  rights: [{ account: 'multinic-agent', missing: [] }],
  readiness: [{ name: 'controller', missing: [], warnings: [] }],
  agentPolicy: 'bound',
  secretAccess: [operatorAccess],
  podSecurity: 'privileged',
  nodes: [aNode('a'), aNode('b')],
  configs: [],
  sources: [],
  podNetworks: { addresses: [] },
}

test('services that answered at the last sync are named with its time', () => {
  const { level, what } = findingsOf({ ...good, sources: [aSource('Synced', '')] }, 'ns', new Date()).at(-1) ?? {}
  assert.equal(level, 'ok')
  assert.match(what ?? '', /^OpenstackConfig ns\/main: Contrabass, Keystone, Neutron, Nova and Viola answered at 2026-/)
})

test('controller M7: no namespace without a controller is to be labelled', () => {
  for (const facts of [{ workloads: [] }, { workloads: 'not served' as const }]) {
    const found = findingsOf({ ...good, ...facts, podSecurity: undefined }, 'default', new Date())
    assert.doesNotMatch(JSON.stringify(found), /kubectl label namespace/)
  }
})

test('the prerequisites of nodes are those of the guide, in its words', async () => {
  const guide = await readFile(new URL('../../../docs/guides/install.md', import.meta.url), 'utf8')
  const needed = [...guide.matchAll(/^- nodes with (.*?)(?: \(|$)/gm)].map(([, text]) => `nodes need ${text}`)
  const nodes = [aNode('a', { kernelVersion: '3.10.0', architecture: 's390x', systemUUID: '' })]
  const said = findingsOf({ ...good, nodes }, 'ns', new Date()).flatMap(({ remedy }) => remedy?.split(':')[0] ?? [])
  assert.deepEqual(said.sort(), needed.sort())
  assert.equal(needed.length, 3)
})

test('a healthy cluster has no finding', () => {
  assert.deepEqual(new Set(findingsOf(good, 'ns', new Date()).map(({ level }) => level)), new Set(['ok']))
})

const cases: Record<string, [facts: Partial<ClusterFacts>, said: string, remedy: RegExp]> = {
  'nodes with ifcfg files': [
    { nodes: [aNode('a', { osImage: 'Rocky Linux 8.9 (Green Obsidian)' }), aNode('b')] },
    'warn 1 of 2 nodes have ifcfg files, which are tested only with NetworkManager: a',
    /network scripts/,
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
  'a part that is not ready and says why': [
    { readiness: [{ name: 'inventory', missing: ['database: disk I/O error'] }] },
    'bad inventory is not ready: database: disk I/O error',
    /kubectl -n ns logs deployment\/inventory/,
  ],
  'a part that warns': [
    { readiness: [{ name: 'viola-api', missing: [], warnings: ['anybody may write'] }] },
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
  'an operator that may read every Secret': [
    { secretAccess: [{ ...operatorAccess, all: true }] },
    'warn multinic-operator may read every Secret of the cluster: its token is worth as much as all of them',
    /operator\.namespaceRules.*operator\.allSecrets/,
  ],
  'an operator that may read a Secret of Viola': [
    { secretAccess: [{ ...operatorAccess, others: [{ namespace: 'ns', name: 'viola-routing', component: 'viola' }] }] },
    'bad multinic-operator may read Secrets of other components: ns/viola-routing (viola)',
    /move them/,
  ],
  'an operator whose right to write Secrets no policy limits': [
    { secretAccess: [{ ...operatorAccess, policy: 'unbound' }] },
    'bad no admission policy limits the Secrets that multinic-operator writes: its token is cluster-admin',
    /operator-secrets\.yaml.*config\/before-1\.30/,
  ],
  'an API server without Deployments': [
    { workloads: 'not served' },
    'warn this API server does not serve Deployments: the components cannot be checked',
    /-n NAMESPACE of a cluster/,
  ],
  'Nodes that are not readable': [{ nodes: undefined }, 'warn cannot list Nodes', /may list them/],
  'a node of another architecture': [
    { nodes: [aNode('a', { architecture: 's390x' }), aNode('b')] },
    'warn node a has architecture s390x',
    /nodes need architecture amd64 or arm64/,
  ],
  'a node that failed': [
    { configs: [aStuck('a', 'Failed', 'ApplyFailed', 'multinic0: cannot write x: read-only file system')] },
    'bad node a is Failed: ApplyFailed: multinic0: cannot write x: read-only file system',
    /multinic retry a/,
  ],
  ...Object.fromEntries(
    ['PodForbidden', 'ImagePullFailed', 'MountFailed', 'PodNotStarting'].map(reason => [
      `controller M7: a node with ${reason}`,
      [
        { configs: [aStuck('a', 'InProgress', reason, 'the cause')] },
        `bad node a is InProgress: ${reason}: the cause`,
        /./,
      ],
    ]),
  ),
  'deleted nodes that wait for approval': [
    {
      configs: ['a', 'b', 'c'].map(name => {
        const stuck = aStuck(name, 'Pending', 'DeletionHeld', 'more than a fifth')
        return { ...stuck, metadata: { ...stuck.metadata, deletionTimestamp: '2026-01-01T10:00:00Z' } }
      }),
    },
    'bad nodes a, b, c are Pending: DeletionHeld: more than a fifth',
    /approve-deletions="\$\(date \+%s\)".*create the objects again\.$/,
  ],
  'nodes with the same cause': [
    { configs: ['a', 'b', 'c'].map(name => aStuck(name, 'Pending', 'QuotaExceeded', 'pods: 10')) },
    'bad nodes a, b, c are Pending: QuotaExceeded: pods: 10',
    /./,
  ],
  'packets that take another way': [
    { configs: [aReported('a', 'Failed', way)] },
    `bad a multinic1: ${way}`,
    /^run multinic why a multinic1 --to 192\.0\.2\.1$/,
  ],
  'packets that take another way on a node that is Configured': [
    { configs: [aReported('a', 'Configured', `gateway 10.1.0.1 does not reply; ${way}`)] },
    `warn a multinic1: ${way}`,
    /^run multinic why a multinic1 --to 192\.0\.2\.1$/,
  ],
  'packets that take another way on many nodes': [
    { configs: [aReported('a', 'Configured', way), ...['b', 'c'].map(name => aReported(name, 'Failed', way))] },
    `bad b multinic1: ${way}; packets of a multinic1, c multinic1 take another way too`,
    /^run multinic why b multinic1 --to 192\.0\.2\.1$/,
  ],
  'nodes that nobody has checked lately': [
    { configs: [aChecked('a', 1), aChecked('b', 5), aChecked('c', 4)] },
    'warn nodes b, c: not verified since 2026-01-01T05:00:00Z',
    /multinic check --now NODE/,
  ],
  'a node that nobody processes': [
    { configs: [aConfig('a', 600)] },
    'bad node a has a config that no controller has processed for 10 min',
    /check that the controller runs/,
  ],
  'a Contrabass that does not answer': [
    { sources: [aSource('ContrabassError', 'connection refused')] },
    'bad Contrabass (OpenstackConfig ns/main): ContrabassError: connection refused',
    /not reached since 2026-01-01T10:00:00Z: Keystone, Neutron, Nova, Viola/,
  ],
  'a Neutron that does not answer': [
    { sources: [aSource('NeutronPortError', 'timeout')] },
    'bad Neutron (OpenstackConfig ns/main): NeutronPortError: timeout',
    /not reached since .*: Nova, Viola/,
  ],
  'a config that is wrong': [
    { sources: [aSource('SubnetNotFound', 'subnet x')] },
    'bad OpenstackConfig ns/main: SubnetNotFound: subnet x',
    /./,
  ],
  'a bus that does not answer': [
    { sources: [aSource('Synced', '', { type: 'EventsConnected', status: 'False', reason: 'EventBusUnreachable' })] },
    'bad message bus (OpenstackConfig ns/main): EventBusUnreachable',
    /./,
  ],
  'a Viola that does not know the cluster': [
    { sources: [aSource('ProviderUnknown', 'no cluster biz-l')] },
    'bad Viola (OpenstackConfig ns/main): ProviderUnknown: no cluster biz-l',
    /spec\.credentials\.k8sProviderID/,
  ],
  'a deletion that waits for Viola': [
    { sources: [aDeleted(aSource('RemovalPending', 'down', pending), openstackConfigFinalizer)] },
    'bad OpenstackConfig ns/main is being deleted since 2026-01-01T10:00:00Z: ',
    /Correct what the message names/,
  ],
  'a deletion that nobody begins': [
    { sources: [aDeleted(aSource('Synced', ''), openstackConfigFinalizer)] },
    'warn OpenstackConfig ns/main is being deleted since 2026-01-01T10:00:00Z',
    /check that the operator runs/,
  ],
  'a deletion that waits for somebody else': [
    { sources: [aDeleted(aSource('RemovalPending', 'down', pending), 'backup/x')] },
    'warn OpenstackConfig ns/main is being deleted since 2026-01-01T10:00:00Z: MultiNIC is done, and these finalizers are left: backup/x',
    /own these finalizers/,
  ],
  'an operator that does not sync': [
    { sources: [aSource('Synced', '', undefined, '2026-01-01T09:00:00Z')] },
    'bad OpenstackConfig ns/main has not been synced since 2026-01-01T10:00:00Z: the next sync was due 2026-01-01T09:00:00Z',
    /operator/,
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
    /nodes need Linux kernel 4\.18 or newer/,
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
    const now = name.includes('lately') ? new Date('2026-01-01T10:00:00Z') : new Date()
    const found = findingsOf({ ...good, ...facts }, 'ns', now).filter(({ level }) => level !== 'ok')
    assert.deepEqual(
      found.map(({ level, what }) => `${level} ${what}`),
      [said],
    )
    assert.match(found[0]?.remedy ?? '', remedy)
  })

test('an account that is refused while Viola fails is reported beside it', () => {
  const cloud = { type: 'CloudReady', status: 'False', reason: 'KeystoneError' } as const
  const found = findingsOf({ ...good, sources: [aSource('ViolaError', 'down', cloud)] }, 'ns', new Date())
  assert.deepEqual(
    found.filter(({ level }) => level === 'bad').map(({ what }) => what),
    ['Viola (OpenstackConfig ns/main): ViolaError: down', 'OpenstackConfig ns/main: KeystoneError: '],
  )
})
