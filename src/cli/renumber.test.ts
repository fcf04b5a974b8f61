/** `multinic renumber` with a real operator and Viola: what it shows, refuses and requests. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { addPort, addServer, addSubnet, type Server, setPortStatus } from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../test/operator/environment.ts'
import { type Run, runner } from '../../test/support/cli.ts'
import { eventually } from '../../test/support/eventually.ts'
import { interfaceHash } from '../contract/interface-hash.ts'
import { completeInterfaces } from '../contract/interfaces.ts'
import { openstackConfigAnnotations, openstackConfigs } from '../contract/openstack-config.ts'
import { crds, nodes, pods } from '../kube/resources.ts'
import type { KubeObject, PodObject } from '../kube/types.ts'

let environment: OperatorEnvironment
let multinic: Run
let workers: Server[]

const networks = {
  group: 'k8s.cni.cncf.io',
  version: 'v1',
  kind: 'NetworkAttachmentDefinition',
  plural: 'network-attachment-definitions',
  namespaced: true,
}
const agent = new AbortController()
let paused = false

const initial = [
  'worker-1: multinic0=10.20.0.10 multinic1=10.10.0.10',
  'worker-2: multinic0=10.20.0.11 multinic1=10.10.0.11',
]

async function pauseAgents(work: () => Promise<void>): Promise<void> {
  paused = true
  await work().finally(() => {
    paused = false
  })
}

before(async () => {
  environment = await startOperatorEnvironment()
  const { cloudState, kube } = environment
  const storage = addSubnet(cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  const backup = addSubnet(cloudState, { name: 'backup', cidr: '10.20.0.0/24', mtu: 1500 })
  workers = ['worker-1', 'worker-2'].map(name => addServer(cloudState, name))
  for (const [n, server] of workers.entries()) {
    for (const subnet of [backup, storage]) {
      const address = subnet.cidr.replace('0/24', `1${n}`)
      setPortStatus(cloudState, addPort(cloudState, { server, subnet, address }).id, 'ACTIVE')
    }
    await kube.create(nodes, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `worker-${n + 1}`, labels: { zone: n === 0 ? 'a' : 'b' } },
      spec: {},
      status: { nodeInfo: { systemUUID: server.id.toUpperCase() } },
    } as KubeObject as never)
  }
  await environment.create({ subnets: [{ name: 'backup' }, { name: 'storage' }], subnetIDs: [] })
  await environment.startOperator()
  void answerAlways(agent.signal)
  await eventually(async () => {
    assert.deepEqual(await environment.deliveredTexts(), initial)
    assert.equal((await environment.config()).status?.nodes?.configured, 2)
  })
  await edit(0)
  multinic = runner({
    KUBECONFIG: environment.api.kubeconfig,
    MULTINIC_OPERATOR_URL: environment.operatorUrl(),
    MULTINIC_INVENTORY_URL: environment.operatorUrl(),
    MULTINIC_TOKEN_FILE: environment.caller.tokenFile,
  })
})
after(async () => {
  agent.abort()
  await environment.close()
})
beforeEach(() => annotate(null))

function edit(index: number) {
  const spec = { subnets: [{ name: 'backup' }, { name: 'storage', index }] }
  return environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { spec })
}

function annotate(value: string | null) {
  const annotations = { [openstackConfigAnnotations.renumber]: value }
  return environment.kube.patch(openstackConfigs, { namespace, name: 'main' }, { metadata: { annotations } })
}

/** The agents of all nodes. */
async function answerAlways(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    for (const { metadata, spec, status } of await environment.nodes().catch(() => [])) {
      if (paused || status?.observedGeneration === metadata.generation) continue
      const interfaceStatuses = completeInterfaces(spec.interfaces).interfaces.map(nic => ({
        ...{ id: nic.index, name: nic.name, portId: nic.portId ?? '', macAddress: nic.macAddress },
        status: 'Configured' as const,
        specHash: interfaceHash(nic),
      }))
      const observedGeneration = metadata.generation ?? 0
      await environment
        .report(metadata.name, { state: 'Configured', observedGeneration, interfaceStatuses })
        .catch(() => {})
    }
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

async function withPod(name: string, master: string, work: () => Promise<void>): Promise<void> {
  const { kube } = environment
  const definition = await kube.get(crds, { name: 'network-attachment-definitions.k8s.cni.cncf.io' })
  if (!definition)
    await kube.create(crds, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'network-attachment-definitions.k8s.cni.cncf.io' },
      spec: {
        group: networks.group,
        scope: 'Namespaced',
        names: { plural: networks.plural, kind: networks.kind },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    } as KubeObject)
  const config = JSON.stringify({ plugins: [{ type: 'macvlan', master }, { type: 'tuning' }] })
  await kube.create(networks, {
    apiVersion: 'k8s.cni.cncf.io/v1',
    kind: 'NetworkAttachmentDefinition',
    metadata: { name, namespace },
    spec: { config },
  } as KubeObject)
  const statusText = JSON.stringify([{ name: 'cbr0', default: true }, null, 7, { name: `${namespace}/${name}` }])
  await kube.create(pods, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: `db-${name}`,
      namespace,
      annotations: { 'k8s.v1.cni.cncf.io/network-status': statusText, 'k8s.v1.cni.cncf.io/networks': `${name}@net1` },
    },
    spec: { nodeName: 'worker-2', containers: [{ name: 'db', image: 'db' }] },
  } as KubeObject as PodObject)
  try {
    await work()
  } finally {
    await kube.delete(pods, { namespace, name: `db-${name}` })
    await kube.delete(networks, { namespace, name })
  }
}

test('the plan shows each interface that would move, and the one that makes room', async () => {
  const { code, out, error } = await multinic('renumber', '--plan')
  assert.deepEqual([code, error], [0, ''])
  assert.match(
    out,
    /^NODE {6}INTERFACE {34}.*SUBNET {3}STATE\nworker-1 {2}multinic1 → multinic0, multinic0 → multinic1 {2}storage {2}can move\nworker-2 /,
  )
  const json = JSON.parse((await multinic('renumber', '-o', 'json', '-l', 'zone=b')).out)
  assert.deepEqual(
    json.moves.map(({ config, nodeName, usedBy }: Record<string, unknown>) => [config, nodeName, usedBy]),
    [[`${namespace}/main`, 'worker-2', []]],
  )
  assert.equal((await environment.config()).metadata.annotations?.[openstackConfigAnnotations.renumber], undefined)
  assert.match((await multinic('renumber', '--lang', 'ko')).out, /옮길 수 있음/)
})

test('an interface that a Pod uses does not move, and neither does one that would take its name', async () => {
  for (const master of ['multinic1', 'multinic0'])
    await withPod(`net-${master}`, master, async () => {
      const { code, out, notes, error } = await multinic('renumber', '--apply', '--node', 'worker-2', '--yes')
      assert.deepEqual([code, error], [1, ''])
      assert.match(out, new RegExp(`used by Pod ${namespace}/db-net-${master}: stop it, or move it to another node`))
      assert.deepEqual(notes, ['1 interface cannot move now; see the table'])
      await expectNotRequested()
    })
  await withPod('net-eth7', 'eth7', async () =>
    assert.match((await multinic('renumber', '--node', 'worker-2')).out, /storage {2}can move\n$/),
  )
})

test('Pods that cannot be read need a flag, and a missing confirmation changes nothing', async () => {
  const elsewhere = ['--biz-kubeconfig', '/nowhere/kubeconfig']
  const shown = await multinic('renumber', ...elsewhere)
  assert.match(shown.out, /Pods not checked: cannot load the kubeconfig: /)
  const refused = await multinic('renumber', '--apply', '--yes', ...elsewhere)
  assert.equal(refused.code, 2)
  assert.match(
    refused.error,
    /the Pods of some nodes were not checked: .*--biz-kubeconfig FILE.* or pass --skip-pod-check/,
  )
  const unconfirmed = await multinic('renumber', '--apply', '--skip-pod-check', ...elsewhere)
  assert.equal(unconfirmed.code, 2)
  assert.match(unconfirmed.error, /not confirmed, nothing was changed; without a terminal, pass --yes/)
  await expectNotRequested()
})

test('a second request is refused while the first is in progress, and the first can be withdrawn', async () => {
  await pauseAgents(async () => {
    const { code, out } = await multinic('renumber', '--apply', '--yes', '--no-wait')
    assert.deepEqual([code, out.split('\n').at(-2)], [0, `${namespace}/main: 2 moves requested`])
    const second = await multinic('renumber', '--apply', '--yes')
    assert.equal(second.code, 2)
    assert.match(second.error, /main: a request is in progress: .*; wait for it, or run multinic renumber --cancel/)
    const { out: withdrawn } = await multinic('renumber', '--cancel')
    assert.equal(withdrawn, `${namespace}/main: the request is withdrawn; a move that an agent has begun completes\n`)
    await eventually(async () => {
      assert.equal((await environment.config()).status?.renumber, undefined)
      assert.deepEqual(await environment.deliveredTexts(), initial)
    })
  })
  assert.equal((await multinic('renumber', '--cancel')).code, 1)
})

test('the interfaces of a node exchange their indexes on request, and the command waits for the result', async () => {
  await eventually(async () => assert.equal((await environment.config()).status?.nodes?.configured, 2))
  const { code, out, error } = await multinic('renumber', '--apply', '--yes', '--node', 'worker-1')
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, /\nmultinic-system\/main {2}Done: 1 of 1 renumbered\n$/)
  assert.deepEqual(await environment.deliveredTexts(), [
    'worker-1: multinic0=10.10.0.10 multinic1=10.20.0.10',
    'worker-2: multinic0=10.20.0.11 multinic1=10.10.0.11',
  ])
  const asked = await multinic('renumber', '--apply', '--yes', '--no-wait')
  assert.match(asked.out, /main: 1 move requested\n$/)
  await eventually(async () =>
    assert.deepEqual((await environment.deliveredTexts())[1], 'worker-2: multinic0=10.10.0.11 multinic1=10.20.0.11'),
  )
  await eventually(async () =>
    assert.match(
      (await multinic('renumber')).out,
      /main {2}Done: 1 of 1 renumbered\nevery interface has the index of its subnet\n$/,
    ),
  )
})

async function expectNotRequested(): Promise<void> {
  const { metadata } = await environment.config()
  assert.equal(metadata.annotations?.[openstackConfigAnnotations.renumber], undefined)
}
