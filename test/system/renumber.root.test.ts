/**
 * Interfaces get the indexes of their subnets on request, through the whole chain: kernel, files for the next boot, traffic. A
 * macvlan of a Pod keeps its NIC where it is.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, before, test } from 'node:test'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { readyOf } from '../../src/contract/object.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { type Run, runner } from '../support/cli.ts'
import { eventually } from '../support/eventually.ts'
import { startPing } from './ping.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox
let multinic: Run
const wrong = ['ens3 10.0.0.1N/24', 'multinic0 10.20.0.1N/24', 'multinic1 10.10.0.1N/24']
const right = ['ens3 10.0.0.1N/24', 'multinic0 10.10.0.1N/24', 'multinic1 10.20.0.1N/24']

/** On both nodes backup is multinic0 and storage is multinic1, and then both subnets get the other index. */
before(async () => {
  system = await startTestSandbox({ nodes: 2 })
  for (const subnet of ['backup', 'storage'])
    for (const vm of ['worker-1', 'worker-2']) {
      system.attach({ vm, subnet })
      await system.waitUntilReady()
    }
  const { management, state, urls } = system.sandbox
  const subnets = [
    { name: 'storage', index: 0 },
    { name: 'backup', index: 1 },
  ]
  await management.kube.patch(openstackConfigs, { namespace, name: 'sandbox' }, { spec: { subnets, subnetIDs: null } })
  const kubeconfigs = { management: management.kubeconfig, biz: system.sandbox.biz.kubeconfig }
  const run = runner({
    KUBECONFIG: kubeconfigs.management,
    MULTINIC_INVENTORY_URL: urls['inventory'] ?? '',
    MULTINIC_OPERATOR_URL: urls['operator'] ?? '',
    MULTINIC_TOKEN_FILE: state.path('operator-token'),
  })
  multinic = Object.assign((...args: string[]) => run(...args, '--biz-kubeconfig', kubeconfigs.biz), { with: run.with })
  for (const n of [0, 1])
    assert.deepEqual(
      await nicsOf(n),
      wrong.map(text => text.replace('N', `${n}`)),
    )
})
after(() => system.stop())

async function nicsOf(n: number): Promise<string[]> {
  const { nics } = await system.nodeState(`worker-${n + 1}`)
  return nics.map(nic => [nic.name, ...nic.addresses].join(' '))
}

const namespaceOf = (node: string) => system.sandbox.nodes.get(node)?.namespace ?? assert.fail(node)

test('a NIC that carries traffic gets the index of its subnet, also for the next boot', async () => {
  const ping = await startPing(namespaceOf('worker-1'), '10.10.0.10', '10.10.0.1')
  const { code, out, error } = await multinic('renumber', '--apply', '--yes', '--node', 'worker-1')
  assert.deepEqual([code, error], [0, ''], out)
  assert.match(out, /sandbox {2}Done: 2 of 2 renumbered\n$/)
  assert.deepEqual(
    await nicsOf(0),
    right.map(text => text.replace('N', '0')),
  )
  const { sent, received } = await ping.stop()
  console.log(`${sent - received} of ${sent} packets lost during the move`)
  await (await startPing(namespaceOf('worker-1'), '10.10.0.10', '10.10.0.1')).stop()
  assert.deepEqual(
    await nicsOf(1),
    wrong.map(text => text.replace('N', '1')),
  )

  const before = await system.nodeState('worker-1')
  const macs = new Map(before.nics.map(({ name, macAddress }) => [name, macAddress]))
  for (const name of ['multinic0', 'multinic1']) {
    const files = Object.entries(before.files).filter(([path]) => path.includes(name) && /netplan|\.link$/.test(path))
    assert.ok(files.length >= 2)
    for (const [path, text] of files) assert.match(text.toLowerCase(), new RegExp(macs.get(name) ?? 'none'), path)
  }
  await system.sandbox.reboot('worker-1')
  await system.waitUntilReady()
  assert.deepEqual(
    await nicsOf(0),
    right.map(text => text.replace('N', '0')),
  )
  const { interfaces = [] } = await system.inventory('worker-1')
  assert.deepEqual(
    interfaces.map(({ name, status }) => `${name} ${status}`),
    ['multinic0 Configured', 'multinic1 Configured'],
  )
})

test('a macvlan of a Pod refuses the move: it is rolled back, and possible when the Pod is gone', async () => {
  const [node, pod] = [namespaceOf('worker-2'), `${namespaceOf('worker-2')}-pod`]
  execFileSync('ip', ['netns', 'add', pod])
  try {
    execFileSync('ip', `-n ${node} link add net1 link multinic1 netns ${pod} type macvlan mode bridge`.split(' '))
    execFileSync('ip', ['-n', pod, 'link', 'set', 'net1', 'up'])
    const { code, out, error } = await multinic('renumber', '--apply', '--yes')
    assert.deepEqual([code, error], [1, ''], out)
    assert.match(
      out,
      /sandbox {2}Stopped: worker-2 multinic0 → multinic1: .*LinkHasUpperDevices: .* uses multinic1 as lower device; stop the Pod first; the index is multinic0 again\n$/,
    )
    await eventually(async () => {
      const config = await system.nodeConfig('worker-2')
      assert.deepEqual([config.status?.state, readyOf(config)?.status], ['Configured', 'True'])
      assert.equal(config.status?.observedGeneration, config.metadata.generation)
    })
    assert.deepEqual(
      await nicsOf(1),
      wrong.map(text => text.replace('N', '1')),
    )
  } finally {
    execFileSync('ip', ['netns', 'del', pod])
  }
  // The kernel removes the macvlan some time after its namespace.
  await eventually(() =>
    assert.doesNotMatch(
      execFileSync('bridge', ['-n', node, 'fdb'], { encoding: 'utf8' }),
      /^[0-9a-f][02468ace]:.* dev multinic1 self/m,
    ),
  )
  const { code, out } = await multinic('renumber', '--apply', '--yes')
  assert.equal(code, 0, out)
  assert.deepEqual(
    await nicsOf(1),
    right.map(text => text.replace('N', '1')),
  )
})
