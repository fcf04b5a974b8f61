import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { parse } from 'yaml'
import type { Port } from '../../sandbox/cloud/state.ts'
import { run } from '../../sandbox/exec.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { eventually } from '../support/eventually.ts'
import { isCatalogue } from '../support/exposition.ts'
import { type Collector, startCollector } from '../support/otlp-collector.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'
import { isOneTrace, linesOf, traceIdOf } from './trace.ts'

let walk: TestSandbox
let first: Port
let collector: Collector

before(async () => {
  collector = await startCollector()
  walk = await startTestSandbox({ nodes: 2, env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
})
after(async () => {
  await walk.stop()
  await collector.close()
})

const [node, other] = ['worker-1', 'worker-2']

test('an attached port becomes a named, addressed, routed NIC with its file, and every part says so', async () => {
  const before = await walk.nodeState(node)
  const [port] = walk.attach({ vm: node, subnet: 'storage' })
  first = port ?? assert.fail('nothing was attached')
  await walk.waitUntilReady()

  const state = await walk.nodeState(node)
  assert.deepEqual(
    state.nics.find(nic => nic.name === 'multinic0'),
    { name: 'multinic0', macAddress: first.macAddress, mtu: 9000, up: true, addresses: ['10.10.0.10/24'] },
  )
  assert.deepEqual(
    state.rules.filter(rule => !before.rules.includes(rule)),
    ['10100: from 10.10.0.10 lookup 100', '10100: from all to 10.10.0.0/24 lookup 100'],
  )
  assert.deepEqual(
    state.routes.filter(route => !before.routes.includes(route)),
    ['100: 10.10.0.0/24 dev multinic0', '100: default via 10.10.0.1 dev multinic0'],
  )
  assert.match(state.files['etc/netplan/90-multinic0.yaml'] ?? '', new RegExp(`macaddress: "?${first.macAddress}`))
  for (const [path, text] of Object.entries(before.files)) assert.equal(state.files[path], text, `${path} was changed`)

  const config = await walk.nodeConfig(node)
  assert.equal(config.status?.state, 'Configured')
  assert.equal(config.status?.interfaceStatuses?.[0]?.status, 'Configured')
  assert.equal(config.spec.interfaces[0]?.source, 'multinic-system/sandbox')
  const conditions = (await walk.openstackConfig()).status?.conditions
  assert.equal(conditions?.find(condition => condition.type === 'Ready')?.status, 'True')

  await eventually(async () => {
    const record = await walk.inventory(node)
    assert.equal(record.instanceId, first.deviceId)
    assert.equal(record.config.interfaces[0]?.portId, first.id)
    assert.equal(record.interfaces?.[0]?.status, 'Configured')
  })
})

test('one id leads through the logs of operator, Viola, controller and agent', async () => {
  const lines = linesOf(walk, await traceIdOf(walk, node))
  const order = [
    'viola: node configs created',
    'operator: delivered',
    'controller: step applied',
    'agent: DetectActiveInterfaces',
    'agent: report',
    'controller: status written',
  ]
  assert.deepEqual(
    order.filter(said => !lines.includes(said)),
    [],
    lines.join('\n'),
  )
})

test('a collector is told one trace of the port, from the sync to the inventory', async () => {
  const spans = await isOneTrace(collector, await traceIdOf(walk, node))
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
  const { user, provider } = walk.sandbox.cloudState
  const told = JSON.stringify(collector.asked.map(({ body }) => body))
  for (const secret of [user.password, provider.encryptKey]) assert.ok(!told.includes(secret))
})

test('what each part counts is what the catalogue has, with work behind it', async () => {
  const { urls } = walk.sandbox
  for (const part of ['operator', 'viola', 'controller', 'inventory'] as const)
    isCatalogue(part, await (await fetch(`${urls[part]}/metrics`)).text())
})

test('the verdict on a port is told next to the inventory', async () => {
  const { urls } = walk.sandbox
  const { body } = await walk.call(`${urls['inventory']}/v1/operator/verdicts?port=${first.id}`)
  const { verdicts } = body as { verdicts: { reason: string; name?: string }[] }
  assert.deepEqual(
    verdicts.map(({ reason, name }) => `${reason} ${name}`),
    ['Selected multinic0'],
  )
})

test('a second sync with nothing new writes nothing: no object, no file, no NIC', async () => {
  await quiet()
  const before = await walk.nodeState(node)
  const written: string[] = []
  const { management, biz, cloud } = walk.sandbox
  const stops = [management, biz].map(({ api }) =>
    api.store.subscribe(({ type, kind, object, old }) => {
      if (kind !== 'coordination.k8s.io/leases' && !onlyTimesMoved(old, object))
        written.push(`${type} ${kind} ${object.metadata.name}`)
    }),
  )
  const calls = cloud.calls()
  await eventually(() => assert.ok(cloud.calls().neutron >= calls.neutron + 6), { within: 20_000 })
  for (const stop of stops) stop()
  assert.deepEqual(written, [])
  assert.equal(cloud.calls().keystone, calls.keystone, 'a token was fetched')
  assert.deepEqual(await walk.nodeState(node), before)
})

test('a port with a lower MAC that is attached later renumbers nobody', async () => {
  const [lower] = walk.attach({ vm: node, subnet: 'storage', macAddress: 'fa:16:3e:00:00:01' })
  await walk.waitUntilReady()
  const { nics } = await walk.nodeState(node)
  assert.deepEqual(
    nics.filter(nic => nic.name.startsWith('multinic')).map(nic => [nic.name, nic.macAddress]),
    [
      ['multinic0', first.macAddress],
      ['multinic1', lower?.macAddress],
    ],
  )
})

test('a NIC reaches the one of the other node on its subnet', async () => {
  walk.attach({ vm: other, subnet: 'storage' })
  await walk.waitUntilReady()
  const from = walk.sandbox.nodes.get(node)?.namespace
  const address = (await walk.nodeConfig(other)).spec.interfaces[0]?.address ?? ''
  await run('nsenter', [`--net=/run/netns/${from}`, 'ping', '-c1', '-W2', '-I', '10.10.0.10', address])
})

test('after a reboot the files alone bring the same NICs back', async () => {
  const before = await walk.nodeState(node)
  // Behind the controller's back: the Node keeps its old boot id, so no agent comes to help.
  await walk.sandbox.nodes.get(node)?.reboot()
  assert.deepEqual(await walk.nodeState(node), before)
})

test('a reboot that the cluster hears of ends Configured again', async () => {
  const before = await walk.nodeState(other)
  await walk.sandbox.reboot(other)
  const boot = walk.sandbox.nodes.get(other)?.bootID
  await eventually(async () => assert.equal((await walk.nodeConfig(other)).status?.bootID, boot), { within: 20_000 })
  await walk.waitUntilReady()
  assert.deepEqual(await walk.nodeState(other), before)
})

test('a detached port takes its NIC, rules, routes and files with it, and nothing else', async () => {
  const [before, beside] = [await walk.nodeState(node), await walk.nodeState(other)]
  await walk.detach({ vm: node, name: 'multinic0' })
  await walk.waitUntilReady()

  const state = await walk.nodeState(node)
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
  assert.ok(!state.rules.some(rule => rule.endsWith('lookup 100')), state.rules.join('\n'))
  assert.deepEqual(await walk.nodeState(other), beside)
  await eventually(async () => {
    const record = await walk.inventory(node)
    assert.deepEqual(
      record.config.interfaces.map(nic => nic.name),
      ['multinic1'],
    )
  })
})

test('the number of a detached port is free for the next one', async () => {
  const [port] = walk.attach({ vm: node, subnet: 'backup' })
  await walk.waitUntilReady()
  const { interfaces } = (await walk.nodeConfig(node)).spec
  assert.equal(interfaces.find(nic => nic.portId === port?.id)?.name, 'multinic0')
})

test('the last port of a node leaves nothing of ours behind', async () => {
  await walk.detach({ vm: other, name: 'multinic0' })
  await walk.waitUntilReady()
  await eventually(async () => {
    const state = await walk.nodeState(other)
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

test('the sample that the documents show works here as it stands', async () => {
  const sample = join(import.meta.dirname, '../../config/samples/openstackconfig.yaml')
  await walk.sandbox.management.kube.create(openstackConfigs, parse(await readFile(sample, 'utf8')))
  await eventually(
    async () => {
      const { conditions } = (await walk.openstackConfig('openstackconfig-sample')).status ?? {}
      assert.equal(conditions?.find(({ type }) => type === 'Ready')?.status, 'True')
    },
    { within: 30_000 },
  )
})

/** Until the last change has passed every part. */
async function quiet(): Promise<void> {
  const { biz, cloud } = walk.sandbox
  const versions = () => [biz.api.store.version(), cloud.calls().neutron] as const
  let [version, calls] = versions()
  await eventually(
    () => {
      const [now, called] = versions()
      const same = now === version
      if (!same) [version, calls] = [now, called]
      assert.ok(same && called >= calls + 4, 'still at work')
    },
    { within: 20_000, every: 100 },
  )
}

interface Timed {
  metadata?: Record<string, unknown>
  status?: Record<string, unknown>
}

function onlyTimesMoved(old: unknown, object: unknown): boolean {
  const plain = (value: unknown) => {
    const { metadata, status, ...rest } = (value ?? {}) as Timed
    const { resourceVersion, managedFields, ...meta } = metadata ?? {}
    const { lastSyncedAt, nextSyncAt, ...said } = status ?? {}
    return JSON.stringify({ ...rest, meta, said })
  }
  return old !== undefined && plain(old) === plain(object)
}
