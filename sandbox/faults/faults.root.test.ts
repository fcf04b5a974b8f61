/** Each word does what it says, and is over when it ends: on a whole sandbox with the real kernel. */
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
import { treeOf } from '../control/status.ts'
import { ipJson, run } from '../exec.ts'
import { sandboxNamespace } from '../lifecycle/components.ts'
import type { Word } from './catalogue.ts'
import { words } from './catalogue.ts'

const [first, second] = ['worker-1', 'worker-2']
const checked: Word[] = []
let walk: TestSandbox

before(
  async () => {
    walk = await startTestSandbox({ nodes: 2 })
    walk.attach({ vm: first, subnet: 'storage' })
    await walk.settled(60_000)
  },
  { timeout: 120_000 },
)
after(() => walk.end())

/** Switches a fault on, looks at it, switches it off: what follows is as if it had never been. */
async function during(word: Word, look: () => Promise<unknown>, node?: string): Promise<void> {
  const { faults } = walk.sandbox
  await faults.on({ word, node })
  checked.push(word)
  try {
    await look()
  } finally {
    await faults.off(word)
  }
  assert.ok(!faults.active().some(fault => fault.word === word))
}

const parts = ['operator', 'viola', 'controller'] as const
const placeOf = (name: string) => walk.sandbox.nodes.get(name) ?? assert.fail(name)
const until = (check: () => unknown) => eventually(check, { within: 60_000, every: 25 })
const isHealthy = async (part: string) =>
  assert.equal((await walk.call(`${walk.sandbox.urls[part]}/healthz`)).status, 200)

test('killed and away: a part is killed, stays away as long as it is told to, and comes back', async () => {
  const { parts: kept, faults } = walk.sandbox
  await Promise.all(
    parts.map(async part => {
      const pid = kept.pidOf(part)
      await faults.on({ word: `killed-${part}` })
      checked.push(`killed-${part}`)
      await until(() => assert.ok(kept.pidOf(part) !== undefined && kept.pidOf(part) !== pid))
      await during(`away-${part}`, async () => {
        await until(() => assert.equal(kept.pidOf(part), undefined))
        await assert.rejects(isHealthy(part), /ECONNREFUSED/)
      })
      await until(() => isHealthy(part))
    }),
  )
})

test('frozen: a part stands still and goes on as the same process', async () => {
  for (const part of parts) {
    const pid = walk.sandbox.parts.pidOf(part)
    const state = () => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1]
    await during(`frozen-${part}`, () => until(() => assert.equal(state(), 'T')))
    await until(() => isHealthy(part))
    assert.equal(walk.sandbox.parts.pidOf(part), pid)
  }
})

for (const cluster of ['management', 'biz'] as const)
  test(`away-${cluster}-api: nobody gets an answer, and the status says so instead of guessing`, async () => {
    const { kube } = walk.sandbox[cluster]
    await during(`away-${cluster}-api`, async () => {
      await assert.rejects(kube.list(nodeConfigs))
      const status = await walk.sandbox.status()
      assert.equal(status.ready, false)
      assert.match(treeOf(status), /worker-1 {2}Unknown {2}the API server of the .* cannot be asked/)
      assert.match(treeOf(status), new RegExp(`faults\n {2}away-${cluster}-api {2}the API server`))
    })
    await until(() => kube.list(nodeConfigs))
    await walk.settled(60_000)
  })

const change = (value: string) => {
  const labels = { tried: value }
  return walk.sandbox.biz.kube.patch(
    nodeConfigs,
    { namespace: sandboxNamespace, name: first },
    { metadata: { labels } },
  )
}

test('conflicts: every second change is refused with 409, and all still comes to its end', async () => {
  await during('conflicts', async () => {
    const outcomes = []
    for (let tries = 0; tries < 20; tries++)
      outcomes.push(
        await change(`${tries}`).then(
          () => 'taken',
          error => kubeErrorIn(error)?.reason,
        ),
      )
    assert.deepEqual([...new Set(outcomes)].sort(), ['Conflict', 'taken'])
    walk.attach({ vm: second, subnet: 'backup' })
    await walk.settled(60_000)
  })
})

test('compacted-watches: who resumes is told 410, and our parts list again', async () => {
  const { biz, faults } = walk.sandbox
  const { resourceVersion } = await biz.kube.list(nodeConfigs)
  await change('again')
  walk.attach({ vm: second, subnet: 'storage' })
  await faults.on({ word: 'compacted-watches' })
  checked.push('compacted-watches')
  await assert.rejects(
    async () => {
      for await (const _ of biz.kube.watch(nodeConfigs, { resourceVersion })) break
    },
    error => kubeErrorIn(error)?.status === 410,
  )
  await walk.settled(60_000)
})

test('killed-agent: agents die again and again, and the last one finishes', async () => {
  await during(
    'killed-agent',
    async () => {
      walk.attach({ vm: second, subnet: 'storage' })
      await until(async () => {
        const { items } = await walk.sandbox.biz.kube.list(pods)
        const restarts = items
          .filter(pod => pod.spec.nodeName === second)
          .map(pod => pod.status?.containerStatuses?.[0]?.restartCount ?? 0)
        assert.ok(Math.max(...restarts) > 0)
      })
    },
    second,
  )
  await walk.settled(90_000)
})

/** A person's word that it is worth another try: sooner than by itself. */
async function retried(name: string): Promise<void> {
  const annotations = { [nodeConfigAnnotations.retry]: 'now' }
  const key = { namespace: sandboxNamespace, name }
  await walk.sandbox.biz.kube.patch(nodeConfigs, key, { metadata: { annotations } })
  await walk.settled(90_000)
}

const disks: [word: Word, code: string, writable: string, said: RegExp][] = [
  ['full-disk', 'ENOSPC', 'worker-2', /no space left|ENOSPC/i],
  ['read-only-etc', 'EROFS', 'worker-2', /read-only|EROFS/i],
]
for (const [word, code, other, said] of disks)
  test(`${word}: nothing of the node can be changed, its files are read, other nodes are spared`, async () => {
    const file = (node: string) => join(placeOf(node).root, 'etc/netplan/99-try.yaml')
    const before = await walk.nodeState(first)
    await during(
      word,
      async () => {
        await assert.rejects(writeFile(file(first), 'x'), { code })
        await assert.rejects(rm(join(placeOf(first).root, 'etc/netplan/90-multinic0.yaml')), { code })
        assert.deepEqual((await walk.nodeState(first)).files, before.files)
        await writeFile(file(other), 'x')
        await rm(file(other))
        walk.attach({ vm: first, subnet: 'backup' })
        await until(async () => {
          const { status } = await walk.nodeConfig(first)
          assert.equal(status?.state, 'Failed')
          assert.match(JSON.stringify(status.interfaceStatuses), said)
        })
      },
      first,
    )
    await retried(first)
    await walk.sandbox.detach({ vm: first, name: 'multinic1' })
    await walk.settled(60_000)
    assert.deepEqual((await walk.nodeState(first)).files, before.files)
  })

test('unplugged-nics: a NIC goes while it is being configured, its port stays, and it is configured once it is back', async () => {
  await during(
    'unplugged-nics',
    async () => {
      const [port] = walk.attach({ vm: first, subnet: 'backup' })
      const macs = async () => (await walk.nodeState(first)).nics.map(nic => nic.mac)
      await until(async () => assert.ok((await macs()).includes(port?.macAddress ?? '')))
      await until(async () => assert.ok(!(await macs()).includes(port?.macAddress ?? '')))
      const { status } = await walk.nodeConfig(first)
      assert.equal(status?.interfaceStatuses?.find(each => each.portId === port?.id)?.status === 'Configured', false)
      assert.ok(walk.sandbox.world.ports.has(port?.id ?? ''))
    },
    first,
  )
  await walk.settled(90_000)
})

test('no-carrier: the NICs of a node lose their carrier, and have it again', async () => {
  const carriers = async (node: string) => {
    const links = await ipJson<{ ifname: string; flags: string[] }>(placeOf(node).namespace, ['link', 'show'])
    return links.filter(({ flags }) => flags.includes('NO-CARRIER')).map(({ ifname }) => ifname)
  }
  await during(
    'no-carrier',
    async () => {
      await until(async () => assert.deepEqual(await carriers(first), ['multinic0', 'multinic1']))
      assert.deepEqual(await carriers(second), [])
    },
    first,
  )
  await until(async () => assert.deepEqual(await carriers(first), []))
  await during('cut-off-node', () => until(async () => assert.deepEqual(await carriers(first), ['ens3'])), first)
  await until(async () => assert.deepEqual(await carriers(first), []))
})

test('duplicate-address: a new NIC meets another machine with its address, and gets it when that one is gone', async () => {
  await during(
    'duplicate-address',
    async () => {
      const [port] = walk.attach({ vm: first, subnet: 'storage' })
      await until(async () => {
        const { status } = await walk.nodeConfig(first)
        const nic = status?.interfaceStatuses?.find(each => each.portId === port?.id)
        assert.equal(nic?.reason, 'AddressConflict')
      })
    },
    first,
  )
  assert.doesNotMatch(await run('ip', ['netns', 'list']), /not-worker-1/)
  await retried(first)
})

test('late-nics: what is delivered waits for its NIC', async () => {
  const [port] = await (async () => {
    let attached: ReturnType<TestSandbox['attach']> = []
    await during('late-nics', async () => {
      attached = walk.attach({ vm: second, subnet: 'backup' })
      await until(async () => {
        const { spec } = await walk.nodeConfig(second)
        assert.ok(spec.interfaces.some(nic => nic.portId === attached[0]?.id))
      })
      assert.equal(walk.sandbox.world.ports.get(attached[0]?.id ?? '')?.status, 'DOWN')
    })
    return attached
  })()
  await walk.settled(60_000)
  assert.equal(walk.sandbox.world.ports.get(port?.id ?? '')?.status, 'ACTIVE')
})

test('a fault with a time ends by itself, and mistakes are told', async () => {
  const { faults, world } = walk.sandbox
  await faults.on({ word: 'lost-role', forMs: 200 })
  assert.equal(world.faults.roleLost, true)
  assert.ok(faults.active()[0]?.until)
  await until(() => assert.equal(world.faults.roleLost, false))
  const mistakes: [Parameters<typeof faults.on>[0], RegExp][] = [
    [{ word: 'slow-nuetron' }, /there is no fault "slow-nuetron"; did you mean slow-keystone/],
    [{ word: 'mayhem' }, /there is no fault "mayhem"; "multinic sandbox fault" lists all/],
    [{ word: 'full-disk', node: 'worker-9' }, /there is no node worker-9; there are worker-1, worker-2/],
    [{ word: 'slow-nova', node: first }, /slow-nova is not of a node; leave the node out/],
    [{ word: 'revoked-tokens', forMs: 5 }, /revoked-tokens happens once; it has no duration/],
    [{ word: 'lost-notices' }, /this sandbox has no message bus: start it with --rabbitmq local/],
    [{ word: 'restarted-broker' }, /this sandbox has no broker of its own/],
  ]
  for (const [input, said] of mistakes) await assert.rejects(faults.on(input), said)
  assert.deepEqual(faults.active(), [])
})

test('a fault that needs an API server does not keep that server from coming back', async () => {
  const { faults, biz } = walk.sandbox
  await faults.on({ word: 'away-biz-api', forMs: 500 })
  await faults.on({ word: 'killed-agent' })
  await until(() => biz.kube.list(pods, { namespace: sandboxNamespace }))
  await faults.off()
})

test('no word is left unchecked', () => {
  const elsewhere = /-(keystone|neutron|nova|contrabass)$|tokens|lost-role|small-pages|wrong-clock|notices|broker/
  assert.deepEqual(
    words.filter(word => !checked.includes(word) && !elsewhere.test(word)),
    [],
  )
})
