import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Family } from '../../contract/address.ts'
import { silent } from '../../telemetry/log.ts'
import type { CommandResult, Host } from '../host/host.ts'
import { hostPaths } from '../paths.ts'
import type { Change, RouteSpec, RuleSpec } from '../state/change.ts'
import type { Unit } from '../state/unit.ts'
import { aNode, aRule } from '../test/agent.fixture.ts'
import { applyBestEffort, applyUnits } from './apply.ts'

const ok: CommandResult = { code: 0, stdout: '', stderr: '' }

/** A kernel that refuses each of these commands once; what exists goes on to exist. It refuses a table of nft always. */
function kernel(refuses: Record<string, string>): { host: Host; done: string[] } {
  const left = new Map(Object.entries(refuses))
  const done: string[] = []
  const unused = () => {
    throw new Error('not used in this test')
  }
  const host: Host = {
    async ip(_args, lines = []) {
      for (const [index, line] of lines.entries()) {
        const error = left.get(line)
        if (error) {
          if (error !== 'File exists') left.delete(line)
          return { code: 1, stdout: '', stderr: `RTNETLINK answers: ${error}\nCommand failed -:${index + 1}\n` }
        }
        done.push(line)
      }
      return ok
    },
    async nft(script) {
      const loaded = script.split('\n').filter(line => /^(delete )?table .*[^{]$/.test(line) || line.endsWith('{'))
      const error = [...left].find(([text]) => text.startsWith('nft ') && script.includes(text.slice(4)))?.[1]
      if (error) return { code: 1, stdout: '', stderr: `/dev/stdin:1:1-5: Error: ${error}\n` }
      done.push(...loaded.filter(line => !line.startsWith('table') || line.endsWith('{')).map(line => `nft ${line}`))
      return ok
    },
    readFile: unused,
    readValue: unused,
    list: unused,
    writeFile: unused,
    rename: unused,
    removeFile: unused,
    makeDirectory: unused,
    removeDirectory: unused,
    writeValue: unused,
    writeReport: unused,
    changedAt: unused,
    connect: unused,
    resolve: unused,
    send: unused,
    canConnect: unused,
    listen: unused,
    now: () => 0,
    monotonic: () => 0,
    sleep: async () => {},
  }
  return { host, done }
}

const unit = (index: number, group = `multinic${index}`): Unit => ({
  purpose: 'apply',
  index,
  name: `multinic${index}`,
  macAddress: `fa:16:3e:00:00:0${index + 1}`,
  ifindex: index + 3,
  group,
  changes: [
    { kind: 'name', from: `ens${index + 4}`, to: `multinic${index}` },
    { kind: 'mtu', from: 1500, to: 1450 },
    { kind: 'altname', op: 'add', altname: `port-${index}` },
  ],
})

const all = (index: number) => [
  `link set dev if${index + 3} name multinic${index}`,
  `link set dev if${index + 3} mtu 1450`,
  `link property add dev if${index + 3} altname port-${index}`,
]

async function run(units: Unit[], refuses: Record<string, string>, up = false) {
  const observed = aNode(2)
  const links = observed.links.map(link => ({ ...link, up }))
  const { host, done } = kernel(refuses)
  const context = { host, paths: hostPaths, log: silent }
  const { failures, ...refused } = await applyUnits(units, { ...observed, links }, context)
  const messages = [...failures].map(([group, { reason, message }]) => `${group} ${reason}: ${message}`)
  return { failures: messages, ...refused, done }
}

test('a command that fails fails its NIC; the other NICs continue', async () => {
  const { failures, done } = await run([unit(0), unit(1)], { 'link set dev if3 mtu 1450': 'Invalid argument' })
  assert.deepEqual(failures, ['multinic0 CommandFailed: mtu 1500 to 1450: Invalid argument'])
  assert.deepEqual(done, [all(0)[0], ...all(1)])
})

test('NICs that exchange names fail together', async () => {
  const { failures, done } = await run([unit(0, 'both'), unit(1, 'both')], {
    'link set dev if3 mtu 1450': 'Invalid argument',
  })
  assert.deepEqual(failures, ['both CommandFailed: mtu 1500 to 1450: Invalid argument'])
  assert.deepEqual(done, [all(0)[0]])
})

test('on a kernel that cannot rename a link that is up, the link goes down, is renamed and goes up', async () => {
  const rename = 'link set dev if3 name multinic0'
  const { failures, done } = await run([unit(0)], { [rename]: 'Device or resource busy' }, true)
  assert.deepEqual(failures, [])
  assert.deepEqual(done, ['link set dev if3 down', rename, 'link set dev if3 up', ...all(0).slice(1)])
})

test('a name that another device took meanwhile fails with InterfaceNameInUse', async () => {
  const { failures } = await run([unit(0)], { 'link set dev if3 name multinic0': 'File exists' })
  assert.deepEqual(failures, ['multinic0 InterfaceNameInUse: rename ens4 to multinic0: File exists'])
})

test('altnames that the kernel refuses fail nothing and are returned', async () => {
  const { failures, refusedAltnames, done } = await run([unit(0), unit(1)], {
    [all(0)[2] ?? '']: 'Operation not supported',
  })
  assert.deepEqual([failures, refusedAltnames], [[], ['port-0']])
  assert.deepEqual(done, [...all(0).slice(0, 2), ...all(1)])
})

test('new rules are added before old ones are removed, unless another NIC removes the same rule', async () => {
  const rule = (address: string, table: number): RuleSpec => ({
    family: 4,
    from: `${address}/32`,
    table,
    priority: 10_000 + table,
    protocol: 4,
  })
  const add = (each: RuleSpec) => ({ kind: 'rule', op: 'add', rule: each }) as const
  const remove = (each: RuleSpec) => ({ kind: 'rule', op: 'remove', rule: each }) as const
  const [kept, old, moved] = [rule('10.0.1.1', 100), rule('10.0.1.1', 90), rule('10.0.1.2', 101)]
  const units = [
    { ...unit(0), changes: [remove(old), add(kept), add(moved)] },
    { ...unit(1), changes: [remove(moved)] },
  ]
  const { done } = await run(units, {})
  assert.deepEqual(done, [
    'rule add from 10.0.1.1/32 lookup 100 priority 10100 protocol 4',
    'rule del from 10.0.1.2/32 lookup 101 priority 10101 protocol 4',
    'rule del from 10.0.1.1/32 lookup 90 priority 10090 protocol 4',
    'rule add from 10.0.1.2/32 lookup 101 priority 10101 protocol 4',
  ])
})

const table = (family: Family, to: string | undefined, from?: string): Change => ({
  ...{ kind: 'nft', family },
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
})
const ip4 = 'table ip multinic {\n}\n'
const ip6 = 'table ip6 multinic {\n}\n'
const node = (...changes: Change[]): Unit => {
  const { ifindex: _, ...rest } = unit(-1, 'node')
  return { ...rest, purpose: 'node', name: 'node', changes }
}
const marked: RuleSpec = { family: 4, from: '0.0.0.0/0', fwmark: '0x8/0x78', table: 100, priority: 10_000, protocol: 4 }

test('tables of nftables are loaded before rules are added, and removed after rules are', async () => {
  const commands = 'from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000 protocol 4'
  const added = await run([node(table(4, ip4), { kind: 'rule', op: 'add', rule: marked })], {})
  assert.deepEqual(added.done, ['nft delete table ip multinic', 'nft table ip multinic {', `rule add ${commands}`])
  const removed = await run([node({ kind: 'rule', op: 'remove', rule: marked }, table(4, undefined, ip4))], {})
  assert.deepEqual(removed.done, [`rule del ${commands}`, 'nft delete table ip multinic'])
  assert.deepEqual([...added.failures, ...removed.failures], [])
})

test('of two tables the one that the kernel accepts is loaded', async () => {
  const refuses = { 'nft table ip6 multinic': 'Could not process rule: Operation not supported' }
  const { done, failures, nftError } = await run([node(table(4, ip4), table(6, ip6))], refuses)
  assert.deepEqual([done, failures], [['nft delete table ip multinic', 'nft table ip multinic {'], []])
  assert.equal(nftError, 'Could not process rule: Operation not supported')
})

const nftErrors: Record<string, [error: string, supported: boolean]> = {
  'has no nftables': ['Could not process rule: Operation not supported', false],
  'lacks an expression': ['Could not process rule: No such file or directory', false],
  'does not permit them': ['Operation not permitted (you must be root)', false],
  'cannot use them at the moment': ['Could not process rule: Device or resource busy', true],
}
for (const [what, [error, supported]] of Object.entries(nftErrors))
  test(`a kernel that ${what} ${supported ? 'fails what all NICs share, and no NIC' : 'fails nothing'}`, async () => {
    const units = [node(table(4, ip4)), unit(0)]
    const { failures, nftError, done } = await run(units, { 'nft table ip multinic': error })
    assert.deepEqual(failures, supported ? [`node CommandFailed: nft: ${error}`] : [])
    assert.equal(nftError, supported ? undefined : error)
    assert.deepEqual(done, all(0))
  })

test('a route with the destination and metric of an old one replaces it, and a route that flows need is added first', async () => {
  const route = (source: string, metric: number): RouteSpec => ({
    ...{ family: 4, table: 254, destination: '10.1.0.0/24', source, metric, onlink: false, protocol: 4 },
  })
  const changes: Change[] = [
    { kind: 'route', op: 'remove', route: route('10.1.0.1', 100), inPlace: true },
    { kind: 'route', op: 'remove', route: route('10.1.0.1', 0) },
    { kind: 'route', op: 'add', route: route('10.1.0.1', 20_000), early: true },
    { kind: 'route', op: 'add', route: route('10.1.0.2', 100), inPlace: true },
  ]
  const { done } = await run([{ ...unit(0), changes }], {})
  assert.deepEqual(done, [
    'route add 10.1.0.0/24 dev if3 table 254 src 10.1.0.1 metric 20000 protocol 4',
    'route del 10.1.0.0/24 dev if3 table 254 src 10.1.0.1 protocol 4',
    'route replace 10.1.0.0/24 dev if3 table 254 src 10.1.0.2 metric 100 protocol 4',
  ])
})

test('a route takes the place of that of another NIC before the other NIC gives it up', async () => {
  const route: RouteSpec = {
    ...{ family: 4, table: 254, destination: '10.1.0.0/24', metric: 20_000, onlink: false, protocol: 4 },
  }
  const units = [
    { ...unit(0), changes: [{ kind: 'route', op: 'add', route, early: true, inPlace: true } as Change] },
    { ...unit(1), changes: [{ kind: 'route', op: 'remove', route } as Change] },
  ]
  const { done } = await run(units, {})
  const text = 'table 254 metric 20000 protocol 4'
  assert.deepEqual(done, [`route replace 10.1.0.0/24 dev if3 ${text}`, `route del 10.1.0.0/24 dev if4 ${text}`])
})

test('of two NICs in one subnet, the first one gives up its connected route last', async () => {
  const changes = (host: number): Change[] => {
    const [dynamic, second] = [`10.1.0.${host}/24`, `10.1.0.${host}/32`]
    const address = (op: 'add' | 'remove', cidr: string, noPrefixRoute = true): Change => ({
      ...{ kind: 'address', op, address: { cidr, noPrefixRoute }, inPlace: true, leavesRoute: true },
    })
    const route = { family: 6, table: 254, destination: 'fd00::/64', metric: 256, onlink: false, protocol: 2 } as const
    return [
      { kind: 'route', op: 'remove', route },
      address('add', second),
      address('remove', dynamic, false),
      address('add', dynamic),
      address('remove', second),
    ]
  }
  const units = [5, 6].map((host, index) => ({ ...unit(index), changes: changes(host) }))
  const { done } = await run(units, {})
  const removed = done.filter(line => line.includes(' del '))
  assert.deepEqual(removed, [
    'route del fd00::/64 dev if4 table 254 metric 256 protocol 2',
    'route del fd00::/64 dev if3 table 254 metric 256 protocol 2',
    'address del 10.1.0.6/24 dev if4',
    'address del 10.1.0.6/32 dev if4',
    'address del 10.1.0.5/24 dev if3',
    'address del 10.1.0.5/32 dev if3',
  ])
})

test('a rollback skips a rule that the kernel could confuse with a foreign one, and nothing else', async () => {
  const rule: RuleSpec = { family: 4, from: '10.100.0.10/32', table: 100, priority: 10_100, protocol: 4 }
  const foreign = aRule({ ...rule, plain: false })
  const changes: Change[] = [{ kind: 'rule', op: 'remove', rule }, ...unit(0).changes]
  const { host, done } = kernel({})
  const observed = { ...aNode(1), rules: [foreign, aRule(rule)] }
  await applyBestEffort([{ ...unit(0), changes }], observed, { host, paths: hostPaths, log: silent })
  assert.deepEqual(done, all(0))
})
