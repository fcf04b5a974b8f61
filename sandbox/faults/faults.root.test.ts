/** Each fault has its effect and recovers, on a complete sandbox with the real kernel. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { kubeErrorIn } from '../../src/kube/errors.ts'
import { pods } from '../../src/kube/resources.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startTestSandbox, type TestSandbox } from '../../test/system/sandbox.fixture.ts'
import { statusTree } from '../control/status.ts'
import { ipJson, run } from '../exec.ts'
import { sandboxNamespace } from '../lifecycle/components.ts'
import type { FaultName } from './catalogue.ts'
import { faultNames } from './catalogue.ts'

const [first, second] = ['worker-1', 'worker-2']
const checked: FaultName[] = []
let system: TestSandbox

before(
  async () => {
    system = await startTestSandbox({ nodes: 2 })
    system.attach({ vm: first, subnet: 'storage' })
    await system.waitUntilReady(60_000)
  },
  { timeout: 120_000 },
)
after(() => system.stop())

/** Runs checks while a fault is active. */
async function during(name: FaultName, check: () => Promise<unknown>, node?: string): Promise<void> {
  const { faults } = system.sandbox
  await faults.start({ name, node })
  checked.push(name)
  try {
    await check()
  } finally {
    await faults.stop(name)
  }
  assert.ok(!faults.active().some(fault => fault.name === name))
}

const components = ['operator', 'viola', 'controller'] as const
const nodeNamed = (name: string) => system.sandbox.nodes.get(name) ?? assert.fail(name)
const until = (check: () => unknown) => eventually(check, { within: 60_000, every: 25 })
const isHealthy = async (component: string) =>
  assert.equal((await system.call(`${system.sandbox.urls[component]}/healthz`)).status, 200)

test('killed and stopped: a killed component restarts, a stopped one stays down until the fault stops', async () => {
  const { components: supervisor, faults } = system.sandbox
  await Promise.all(
    components.map(async name => {
      const pid = supervisor.pidOf(name)
      await faults.start({ name: `killed-${name}` })
      checked.push(`killed-${name}`)
      await until(() => assert.ok(supervisor.pidOf(name) !== undefined && supervisor.pidOf(name) !== pid))
      await during(`stopped-${name}`, async () => {
        await until(() => assert.equal(supervisor.pidOf(name), undefined))
        await assert.rejects(isHealthy(name), /ECONNREFUSED/)
      })
      await until(() => isHealthy(name))
    }),
  )
})

test('frozen: a component is stopped by SIGSTOP and continues as the same process', async () => {
  for (const name of components) {
    const pid = system.sandbox.components.pidOf(name)
    const state = () => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    await during(`frozen-${name}`, () => until(() => assert.equal(state(), 'T')))
    await until(() => isHealthy(name))
    assert.equal(system.sandbox.components.pidOf(name), pid)
  }
})

for (const cluster of ['management', 'biz'] as const)
  test(`unreachable-${cluster}-api: requests fail and the status shows the nodes as Unknown`, async () => {
    const { kube } = system.sandbox[cluster]
    await during(`unreachable-${cluster}-api`, async () => {
      await assert.rejects(kube.list(nodeConfigs))
      const status = await system.sandbox.status()
      assert.equal(status.ready, false)
      assert.match(statusTree(status), /worker-1 {2}Unknown {2}the API server of the .* cannot be reached/)
      assert.match(statusTree(status), new RegExp(`faults\n {2}unreachable-${cluster}-api {2}the API server`))
    })
    await until(() => kube.list(nodeConfigs))
    await system.waitUntilReady(60_000)
  })

const change = (value: string) => {
  const labels = { attempt: value }
  return system.sandbox.biz.kube.patch(
    nodeConfigs,
    { namespace: sandboxNamespace, name: first },
    { metadata: { labels } },
  )
}

test('conflicts: every second update fails with 409, and ports are still configured', async () => {
  await during('conflicts', async () => {
    const outcomes = []
    for (let tries = 0; tries < 20; tries++)
      outcomes.push(
        await change(`${tries}`).then(
          () => 'accepted',
          error => kubeErrorIn(error)?.reason,
        ),
      )
    assert.deepEqual([...new Set(outcomes)].sort(), ['Conflict', 'accepted'])
    system.attach({ vm: second, subnet: 'backup' })
    await system.waitUntilReady(60_000)
  })
})

test('compacted-watches: a resumed watch gets 410, and the components list again', async () => {
  const { biz, faults } = system.sandbox
  const { resourceVersion } = await biz.kube.list(nodeConfigs)
  await change('again')
  system.attach({ vm: second, subnet: 'storage' })
  await faults.start({ name: 'compacted-watches' })
  checked.push('compacted-watches')
  await assert.rejects(
    async () => {
      for await (const _ of biz.kube.watch(nodeConfigs, { resourceVersion })) break
    },
    error => kubeErrorIn(error)?.status === 410,
  )
  await system.waitUntilReady(60_000)
})

test('killed-agent: agents are killed repeatedly, and the last one finishes after the fault stops', async () => {
  await during(
    'killed-agent',
    async () => {
      let nextAttach = 0
      await until(async () => {
        const { items } = await system.sandbox.biz.kube.list(pods)
        const ofNode = items.filter(pod => pod.spec.nodeName === second)
        const isRunning = ofNode.some(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? ''))
        // On a busy machine an agent may finish before the kill. The next port starts another one.
        if (!isRunning && performance.now() > nextAttach) {
          system.attach({ vm: second, subnet: 'storage' })
          nextAttach = performance.now() + 10_000
        }
        const restarts = ofNode.map(pod => pod.status?.containerStatuses?.[0]?.restartCount ?? 0)
        assert.ok(Math.max(...restarts) > 0)
      })
    },
    second,
  )
  await system.waitUntilReady(90_000)
})

/** Requests a retry instead of waiting for the backoff. */
async function retry(name: string): Promise<void> {
  const annotations = { [nodeConfigAnnotations.retry]: 'now' }
  const key = { namespace: sandboxNamespace, name }
  await system.sandbox.biz.kube.patch(nodeConfigs, key, { metadata: { annotations } })
  await system.waitUntilReady(90_000)
}

const disks: [name: FaultName, code: string, writable: string, message: RegExp][] = [
  ['full-disk', 'ENOSPC', 'worker-2', /no space left|ENOSPC/i],
  ['read-only-etc', 'EROFS', 'worker-2', /read-only|EROFS/i],
]
for (const [name, code, other, message] of disks)
  test(`${name}: files of the node are readable but cannot be changed, other nodes are not affected`, async () => {
    const file = (node: string) => join(nodeNamed(node).root, 'etc/netplan/99-try.yaml')
    const before = await system.nodeState(first)
    let nic = ''
    await during(
      name,
      async () => {
        await assert.rejects(writeFile(file(first), 'x'), { code })
        await assert.rejects(rm(join(nodeNamed(first).root, 'etc/netplan/90-multinic0.yaml')), { code })
        assert.deepEqual((await system.nodeState(first)).files, before.files)
        await writeFile(file(other), 'x')
        await rm(file(other))
        const [port] = system.attach({ vm: first, subnet: 'backup' })
        await until(async () => {
          const { spec, status } = await system.nodeConfig(first)
          nic = spec.interfaces.find(({ portId }) => portId === port?.id)?.name ?? ''
          assert.equal(status?.state, 'Failed')
          assert.match(JSON.stringify(status.interfaceStatuses), message)
        })
      },
      first,
    )
    await retry(first)
    await system.sandbox.detach({ vm: first, name: nic })
    await system.waitUntilReady(60_000)
    assert.deepEqual((await system.nodeState(first)).files, before.files)
  })

test('unplugged-nics: a NIC disappears while the agent configures it, and is configured after it is back', async () => {
  await during(
    'unplugged-nics',
    async () => {
      const [port] = system.attach({ vm: first, subnet: 'backup' })
      const macs = async () => (await system.nodeState(first)).nics.map(nic => nic.macAddress)
      await until(async () => assert.ok((await macs()).includes(port?.macAddress ?? '')))
      await until(async () => assert.ok(!(await macs()).includes(port?.macAddress ?? '')))
      const { status } = await system.nodeConfig(first)
      assert.equal(status?.interfaceStatuses?.find(each => each.portId === port?.id)?.status === 'Configured', false)
      assert.ok(system.sandbox.cloudState.ports.has(port?.id ?? ''))
    },
    first,
  )
  await system.waitUntilReady(90_000)
})

test('no-carrier and cut-off-node: NICs of a node lose their carrier and get it back', async () => {
  const carriers = async (node: string) => {
    const links = await ipJson<{ ifname: string; flags: string[] }>(nodeNamed(node).namespace, ['link', 'show'])
    return links.filter(({ flags }) => flags.includes('NO-CARRIER')).map(({ ifname }) => ifname)
  }
  await during(
    'no-carrier',
    async () => {
      const { spec } = await system.nodeConfig(first)
      const nics = spec.interfaces.map(({ name }) => name ?? '')
      assert.equal(nics.length, 2)
      await until(async () => assert.deepEqual((await carriers(first)).toSorted(), nics.toSorted()))
      assert.deepEqual(await carriers(second), [])
    },
    first,
  )
  await until(async () => assert.deepEqual(await carriers(first), []))
  await during('cut-off-node', () => until(async () => assert.deepEqual(await carriers(first), ['ens3'])), first)
  await until(async () => assert.deepEqual(await carriers(first), []))
})

test('no-carrier: a NIC that is plugged while the fault ends has its carrier', async () => {
  await during('no-carrier', async () => system.attach({ vm: second, subnet: 'storage' }), second)
  await system.waitUntilReady(90_000)
})

test('duplicate-address: a new NIC fails with AddressConflict and is configured after the other host is gone', async () => {
  await during(
    'duplicate-address',
    async () => {
      const [port] = system.attach({ vm: first, subnet: 'storage' })
      await until(async () => {
        const { status } = await system.nodeConfig(first)
        const nic = status?.interfaceStatuses?.find(each => each.portId === port?.id)
        assert.equal(nic?.reason, 'AddressConflict')
      })
    },
    first,
  )
  assert.doesNotMatch(await run('ip', ['netns', 'list']), /not-worker-1/)
  await retry(first)
})

test('late-nics: a delivered interface waits for its NIC', async () => {
  const [port] = await (async () => {
    let attached: ReturnType<TestSandbox['attach']> = []
    await during('late-nics', async () => {
      attached = system.attach({ vm: second, subnet: 'backup' })
      await until(async () => {
        const { spec } = await system.nodeConfig(second)
        assert.ok(spec.interfaces.some(nic => nic.portId === attached[0]?.id))
      })
      assert.equal(system.sandbox.cloudState.ports.get(attached[0]?.id ?? '')?.status, 'DOWN')
    })
    return attached
  })()
  await system.waitUntilReady(60_000)
  assert.equal(system.sandbox.cloudState.ports.get(port?.id ?? '')?.status, 'ACTIVE')
})

test('a fault with a duration stops when it has elapsed, and invalid input is rejected', async () => {
  const { faults, cloudState } = system.sandbox
  await faults.start({ name: 'lost-role', forMs: 200 })
  assert.equal(cloudState.faults.roleLost, true)
  assert.ok(faults.active()[0]?.until)
  await until(() => assert.equal(cloudState.faults.roleLost, false))
  const mistakes: [Parameters<typeof faults.start>[0], RegExp][] = [
    [{ name: 'slow-nuetron' }, /fault "slow-nuetron" not found; did you mean slow-keystone/],
    [{ name: 'mayhem' }, /fault "mayhem" not found; "multinic sandbox fault" lists all faults/],
    [{ name: 'full-disk', node: 'worker-9' }, /node worker-9 not found; the nodes are worker-1, worker-2/],
    [{ name: 'slow-nova', node: first }, /slow-nova does not affect single nodes; leave out --node/],
    [{ name: 'revoked-tokens', forMs: 5 }, /revoked-tokens happens once and takes no duration/],
    [{ name: 'lost-notifications' }, /this sandbox has no message bus; start it with --rabbitmq local/],
    [{ name: 'restarted-broker' }, /this sandbox does not run its own broker/],
  ]
  for (const [input, message] of mistakes) await assert.rejects(faults.start(input), message)
  assert.deepEqual(faults.active(), [])
})

test('a fault that watches an API server does not block the recovery of that server', async () => {
  const { faults, biz } = system.sandbox
  await faults.start({ name: 'unreachable-biz-api', forMs: 500 })
  await faults.start({ name: 'killed-agent' })
  await until(() => biz.kube.list(pods, { namespace: sandboxNamespace }))
  await faults.stop()
})

test('every fault of nodes and clusters is tested here', () => {
  const testedElsewhere =
    /-(keystone|neutron|nova|contrabass)$|tokens|lost-role|small-pages|wrong-clock|notifications|broker/
  assert.deepEqual(
    faultNames.filter(name => !checked.includes(name) && !testedElsewhere.test(name)),
    [],
  )
})
