import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import type { Port } from '../../sandbox/cloud/state.ts'
import { run } from '../../sandbox/exec.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { eventually } from '../support/eventually.ts'
import { assertCatalogue } from '../support/exposition.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'
import { isOneTrace, linesOf, traceIdOf } from './trace.ts'

let system: TestSandbox
let first: Port
let collector: Collector

before(async () => {
  collector = await startCollector()
  system = await startTestSandbox({ nodes: 2, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
})
after(async () => {
  await system.stop()
  await collector.close()
})

const [node, other] = ['worker-1', 'worker-2']

test('an attached port becomes a NIC with name, address, routes and file, and every component reports it', async () => {
  const before = await system.nodeState(node)
  const [port] = system.attach({ vm: node, subnet: 'storage' })
  first = port ?? assert.fail('no port was attached')
  await system.waitUntilReady()

  const state = await system.nodeState(node)
  assert.deepEqual(
    state.nics.find(nic => nic.name === 'multinic0'),
    { name: 'multinic0', macAddress: first.macAddress, mtu: 9000, up: true, addresses: ['10.10.0.10/24'] },
  )
  assert.deepEqual(
    state.rules.filter(rule => !before.rules.includes(rule)),
    [
      '9998: from all fwmark 0/0x78 goto 10012',
      '9999: from all iif multinic0 fwmark 0x8/0x78 lookup main',
      '10000: from all fwmark 0x8/0x78 lookup 100',
      '10010: from all fwmark 0x58/0x78 lookup 110',
      '10012: not from all iif lo goto 10095',
      '10013: from 0.0.0.1/31 iif lo goto 10095',
      '10014: from 10.0.0.0/24 iif lo goto 10090',
      '10060: from 10.10.0.0/24 iif lo lookup main',
      '10070: from 10.10.0.0/24 iif lo lookup 100',
      '10090: from 10.0.0.0/24 iif lo lookup main',
      '10091: from 10.0.0.0/24 iif lo lookup 110',
      '10095: from all nop',
    ],
  )
  assert.deepEqual(
    state.routes.filter(route => !before.routes.includes(route)),
    [
      '100: 10.10.0.0/24 dev multinic0',
      '100: default via 10.10.0.1 dev multinic0',
      '110: 10.10.0.0/24 via 10.0.0.1 dev ens3',
      'main: 10.10.0.0/24 dev multinic0',
    ],
  )
  assert.match(state.files['etc/netplan/90-multinic0.yaml'] ?? '', new RegExp(`macaddress: "?${first.macAddress}`))
  for (const [path, text] of Object.entries(before.files)) assert.equal(state.files[path], text, `${path} was changed`)

  const config = await system.nodeConfig(node)
  assert.equal(config.status?.state, 'Configured')
  assert.equal(config.status?.interfaceStatuses?.[0]?.status, 'Configured')
  assert.equal(config.spec.interfaces[0]?.source, 'multinic-system/sandbox')
  const conditions = (await system.openstackConfig()).status?.conditions
  assert.equal(conditions?.find(condition => condition.type === 'Ready')?.status, 'True')

  await eventually(async () => {
    const record = await system.inventory(node)
    assert.equal(record.instanceId, first.deviceId)
    assert.equal(record.config.interfaces[0]?.portId, first.id)
    assert.equal(record.interfaces?.[0]?.status, 'Configured')
  })
})

test('the logs of operator, Viola, controller and agent share one trace ID', async () => {
  const lines = linesOf(system, await traceIdOf(system, node))
  const order = [
    'viola: node configs created',
    'operator: delivered',
    'controller: step applied',
    'agent: DetectActiveInterfaces',
    'agent: report',
    'controller: status written',
  ]
  assert.deepEqual(
    order.filter(line => !lines.includes(line)),
    [],
    lines.join('\n'),
  )
})

test('the collector receives one trace of the port, from the sync to the inventory', async () => {
  const spans = await isOneTrace(collector, await traceIdOf(system, node))
  assert.deepEqual([...new Set(spans.map(({ service }) => service))].sort(), [
    'multinic-agent',
    'multinic-controller',
    'multinic-operator',
    'multinic-viola',
  ])
  assert.deepEqual(
    spans.filter(({ failed }) => failed),
    [],
  )
  const { user, provider } = system.sandbox.cloudState
  const received = JSON.stringify(collector.requests.map(({ body }) => body))
  for (const secret of [user.password, provider.encryptKey]) assert.ok(!received.includes(secret))
})

test('every component serves exactly the metrics of the catalogue, also after work', async () => {
  const { urls } = system.sandbox
  for (const component of ['operator', 'viola', 'controller', 'inventory'] as const)
    assertCatalogue(component, await (await fetch(`${urls[component]}/metrics`)).text())
})

test('the address of the inventory also serves the verdict on a port', async () => {
  const { urls } = system.sandbox
  const { body } = await system.call(`${urls['inventory']}/v1/operator/verdicts?port=${first.id}`)
  const { verdicts } = body as { verdicts: { reason: string; name?: string }[] }
  assert.deepEqual(
    verdicts.map(({ reason, name }) => `${reason} ${name}`),
    ['Selected multinic0'],
  )
})

test('a sync without changes writes nothing: no object, no file, no NIC', async () => {
  await waitUntilIdle()
  const before = await system.nodeState(node)
  const written: string[] = []
  const { management, biz, cloud } = system.sandbox
  const stops = [management, biz].map(({ api }) =>
    api.store.subscribe(({ type, kind, object, old }) => {
      if (kind !== 'coordination.k8s.io/leases' && !differsInTimesOnly(old, object))
        written.push(`${type} ${kind} ${object.metadata.name}`)
    }),
  )
  const calls = cloud.calls()
  await eventually(() => assert.ok(cloud.calls().neutron >= calls.neutron + 6), { within: 20_000 })
  for (const stop of stops) stop()
  assert.deepEqual(written, [])
  assert.equal(cloud.calls().keystone, calls.keystone, 'a token was fetched')
  assert.deepEqual(await system.nodeState(node), before)
})

test('a later port with a lower MAC address changes no interface index', async () => {
  const [lower] = system.attach({ vm: node, subnet: 'storage', macAddress: 'fa:16:3e:00:00:01' })
  await system.waitUntilReady()
  const { nics } = await system.nodeState(node)
  assert.deepEqual(
    nics.filter(nic => nic.name.startsWith('multinic')).map(nic => [nic.name, nic.macAddress]),
    [
      ['multinic0', first.macAddress],
      ['multinic1', lower?.macAddress],
    ],
  )
})

test('a NIC reaches the NIC of another node in its subnet', async () => {
  system.attach({ vm: other, subnet: 'storage' })
  await system.waitUntilReady()
  const from = system.sandbox.nodes.get(node)?.namespace
  const address = (await system.nodeConfig(other)).spec.interfaces[0]?.address ?? ''
  await run('nsenter', [`--net=/run/netns/${from}`, 'ping', '-c1', '-W2', '-I', '10.10.0.10', address])
})

test('after a reboot the files alone restore the same NICs', async () => {
  const before = await system.nodeState(node)
  // The Node object keeps its old boot ID, so the controller starts no agent.
  await system.sandbox.nodes.get(node)?.reboot()
  assert.deepEqual(await system.nodeState(node), before)
})

test('after a reboot that the cluster sees, the node is Configured again', async () => {
  const before = await system.nodeState(other)
  await system.sandbox.reboot(other)
  const boot = system.sandbox.nodes.get(other)?.bootID
  await eventually(async () => assert.equal((await system.nodeConfig(other)).status?.bootID, boot), { within: 20_000 })
  await system.waitUntilReady()
  assert.deepEqual(await system.nodeState(other), before)
})

test('detaching a port removes its NIC, rules, routes and files, and nothing else', async () => {
  const [before, otherBefore] = [await system.nodeState(node), await system.nodeState(other)]
  await system.detach({ vm: node, name: 'multinic0' })
  await system.waitUntilReady()

  const state = await system.nodeState(node)
  const ours = (text: string) => /multinic0|\b100\b|10\.10\.0\.10\b/.test(text)
  assert.deepEqual(
    state.nics,
    before.nics.filter(nic => nic.name !== 'multinic0'),
  )
  assert.deepEqual(
    state.routes,
    before.routes.filter(route => !route.includes('multinic0')),
  )
  assert.deepEqual(
    Object.keys(state.files),
    Object.keys(before.files).filter(path => !ours(path)),
  )
  assert.ok(!state.rules.some(rule => /lookup 100$|10\\.10\\.0\\.10/.test(rule)), state.rules.join('\n'))
  assert.deepEqual(await system.nodeState(other), otherBefore)
  await eventually(async () => {
    const record = await system.inventory(node)
    assert.deepEqual(
      record.config.interfaces.map(nic => nic.name),
      ['multinic1'],
    )
  })
})

test('the next port does not get the interface index of a port that was just detached', async () => {
  const [port] = system.attach({ vm: node, subnet: 'backup' })
  await system.waitUntilReady()
  const { interfaces } = (await system.nodeConfig(node)).spec
  assert.equal(interfaces.find(nic => nic.portId === port?.id)?.name, 'multinic2')
})

test('detaching the last port of a node removes everything that is ours', async () => {
  await system.detach({ vm: other, name: 'multinic0' })
  await system.waitUntilReady()
  await eventually(async () => {
    const state = await system.nodeState(other)
    assert.deepEqual(
      state.nics.map(nic => nic.name),
      ['ens3'],
    )
    assert.deepEqual(
      state.rules.map(rule => rule.split(':')[0]),
      ['0', '32766', '32767'],
    )
    assert.deepEqual(
      Object.keys(state.files).filter(path => path.includes('multinic')),
      [],
    )
  })
})

test('experience M1: the sample makes a NIC of a port unchanged, and its status agrees with itself', async () => {
  system.attach({ vm: node, subnet: 'app' })
  const sample = join(import.meta.dirname, '../../config/samples/openstackconfig.yaml')
  await system.sandbox.management.kube.create(openstackConfigs, parse(await readFile(sample, 'utf8')))
  await eventually(
    async () => {
      const { conditions } = (await system.openstackConfig('openstackconfig-sample')).status ?? {}
      assert.equal(conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
    },
    { within: 30_000 },
  )
  await eventually(
    async () => {
      const { nodes, ports, conditions } = (await system.openstackConfig('openstackconfig-sample')).status ?? {}
      assert.deepEqual([nodes?.ready, ports?.summary], ['1/1', '1/1'])
      assert.match(
        conditions?.find(({ type }) => type === 'Ready')?.message ?? '',
        /^(delivered 1 node|1 node up to date)$/,
      )
    },
    { within: 30_000 },
  )
})

/** Waits until the last change has passed every component. */
async function waitUntilIdle(): Promise<void> {
  const { biz, cloud } = system.sandbox
  const versions = () => [biz.api.store.version(), cloud.calls().neutron] as const
  let [version, calls] = versions()
  await eventually(
    () => {
      const [now, called] = versions()
      const isUnchanged = now === version
      if (!isUnchanged) [version, calls] = [now, called]
      assert.ok(isUnchanged && called >= calls + 4, 'not idle')
    },
    { within: 20_000, every: 100 },
  )
}

interface WithTimes {
  metadata?: Record<string, unknown>
  status?: Record<string, unknown>
}

function differsInTimesOnly(old: unknown, object: unknown): boolean {
  const plain = (value: unknown) => {
    const { metadata, status, ...rest } = (value ?? {}) as WithTimes
    const { resourceVersion, managedFields, ...meta } = metadata ?? {}
    const { lastSyncedAt, nextSyncAt, ...otherStatus } = status ?? {}
    return JSON.stringify({ ...rest, meta, otherStatus })
  }
  return old !== undefined && plain(old) === plain(object)
}
