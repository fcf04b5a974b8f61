/** Caching of logins, over real HTTP: limited in time, and dropped when the account is refused. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Cloud as SandboxCloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import { addPort, addServer, addSubnet, createCloudState, type Server } from '../../sandbox/cloud/state.ts'
import { ownEndpoints } from '../../test/openstack/sessions.ts'
import type { Cloud, Port } from '../operator/cloud.ts'
import { resolveSettings } from '../operator/config.ts'
import { silent } from '../telemetry/log.ts'
import type { ContrabassAccount } from './cloud.ts'
import { createOpenStackClouds, type OpenStackClouds } from './clouds.ts'

const minute = 60_000
const world = createCloudState()
let sandbox: SandboxCloud
let clouds: OpenStackClouds
let server: Server
let now = Date.now()

before(async () => {
  server = addServer(world, 'worker-1')
  addPort(world, { server, subnet: addSubnet(world, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 }) })
  sandbox = await startCloud(world, silent)
  clouds = createOpenStackClouds({ now: () => now })
})
after(async () => {
  await clouds?.close()
  await sandbox?.close()
})

function open(other: Partial<ContrabassAccount> = {}): Cloud {
  const env = { CONTRABASS_ENDPOINT: sandbox.urls.contrabass, VIOLA_ENDPOINT: 'http://127.0.0.1:9' }
  const settings = resolveSettings(env).openstack
  const { encryptKey, id: providerId } = world.provider
  const usual = { endpoint: sandbox.urls.contrabass, encryptKey, providerId, projectId: world.project.id }
  const account = { ...usual, ...other }
  return clouds.open({ user: JSON.stringify(other), settings, account, endpoints: ownEndpoints })
}

async function ports(other?: Partial<ContrabassAccount>): Promise<number> {
  return (await open(other).portsOfServers([server.id])).length
}

/** Calls to Contrabass and Keystone during the work. */
async function callsDuring(work: () => Promise<unknown>): Promise<[contrabass: number, keystone: number]> {
  const before = sandbox.calls()
  await work()
  const { contrabass, keystone } = sandbox.calls()
  return [contrabass - before.contrabass, keystone - before.keystone]
}

test('Contrabass is called once in ten minutes, Keystone once per token', async () => {
  assert.deepEqual(await callsDuring(() => ports()), [1, 1])
  now += 9 * minute
  assert.deepEqual(await callsDuring(() => ports()), [0, 0])
  now += 2 * minute
  assert.deepEqual(await callsDuring(() => ports()), [1, 0])
})

test('after a refused login the account is read again, and its new password is used at once', async () => {
  now += minute
  world.user.password = 'changed in Contrabass too'
  sandbox.revokeTokens()
  const [contrabass] = await callsDuring(async () => assert.equal(await ports(), 1))
  assert.equal(contrabass, 1)
})

test('an account that stays refused is read once per attempt, and the error is reported', async () => {
  const refused = () => assert.rejects(ports({ projectId: 'f'.repeat(32) }), /keystone: POST .*HTTP 401/)
  assert.equal((await callsDuring(refused))[0], 1)
  now += minute
  assert.equal((await callsDuring(refused))[0], 1)
})

test('another key is another login', async () => {
  await assert.rejects(ports({ encryptKey: 'another-key-16-b' }), /the key does not decrypt the password/)
})

test('the ports of very many servers have the form of those of few, also outside of any selected subnet', async () => {
  const subnets = ['selected', 'other'].map((name, n) =>
    addSubnet(world, { name, cidr: `10.${20 + n}.0.0/16`, mtu: 1500 }),
  )
  const servers = Array.from({ length: 301 }, (_, n) => addServer(world, `vm-${n}`))
  for (const one of servers.slice(0, 2)) for (const subnet of subnets) addPort(world, { server: one, subnet })
  const ids = servers.map(({ id }) => id)
  const [first = ''] = ids
  const sorted = (found: readonly Port[]) => found.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const before = sandbox.calls().neutron
  const all = await open().portsOfServers(ids)
  assert.deepEqual([all.length, sandbox.calls().neutron - before], [4, 1])
  const some = await open().portsOfServers([first])
  assert.deepEqual(sorted(some), sorted(all.filter(({ serverId }) => serverId === first)))
})

test('in a project with more pages of ports than groups of servers, ports are listed by server for ten minutes', async () => {
  now += 20 * minute
  const ids = [...world.servers.keys()]
  const groups = Math.ceil(ids.length / 100)
  const cloud = open()
  await cloud.check()
  const callsOf = async () => {
    const before = sandbox.calls().neutron
    assert.equal((await cloud.portsOfServers(ids)).length, world.ports.size)
    return sandbox.calls().neutron - before
  }
  assert.equal(await callsOf(), 1)
  world.faults.pageLimit = 1
  try {
    const first = await callsOf()
    assert.equal(await callsOf(), first - groups, 'the project is not listed again')
    now += 11 * minute
    assert.equal(await callsOf(), first)
  } finally {
    world.faults.pageLimit = 0
  }
})

test('objects with very many servers share the list of the project, and keep their ports when another object lists', async () => {
  now += 20 * minute
  const subnet = addSubnet(world, { name: 'shared', cidr: '10.30.0.0/16', mtu: 1500 })
  const groups = ['a', 'b', 'c'].map(name => Array.from({ length: 301 }, (_, n) => addServer(world, `${name}-${n}`)))
  for (const [server] of groups) if (server) addPort(world, { server, subnet })
  const cloud = open()
  await cloud.check()
  const before = sandbox.calls().neutron
  const listed = (group: Server[]) => cloud.portsOfServers(group.map(({ id }) => id))
  const [first, ...others] = groups.map(async (group, n) => {
    // The list for the first group is sent.
    if (n > 0) await Promise.resolve()
    return listed(group)
  })
  assert.deepEqual(
    (await Promise.all([first, ...others])).map(found => found?.length),
    [1, 1, 1],
  )
  assert.equal(sandbox.calls().neutron - before, 2)
  const [a, b] = [groups[0] ?? [], groups[1] ?? []]
  const [portOfA] = await listed(a)
  await listed(b)
  assert.equal((await listed(a))[0], portOfA)
})

test('objects with dozens of servers keep their ports, in whatever order they list at the same time', async () => {
  now += 20 * minute
  const subnet = addSubnet(world, { name: 'dozens', cidr: '10.40.0.0/16', mtu: 1500 })
  const groups = ['d', 'e', 'f'].map(name => Array.from({ length: 60 }, (_, n) => addServer(world, `${name}-${n}`)))
  for (const server of groups.flat()) addPort(world, { server, subnet })
  const cloud = open()
  await cloud.check()
  const listed = (order: Server[][]) => Promise.all(order.map(group => cloud.portsOfServers(group.map(({ id }) => id))))
  const first = await listed(groups)
  const second = (await listed(groups.toReversed())).toReversed()
  assert.deepEqual(
    first.map(({ length }) => length),
    [60, 60, 60],
  )
  for (const [group, found] of first.entries()) assert.ok(found.every((port, n) => port === second[group]?.[n]))
})
