/**
 * What all NICs of a node share, on a real kernel: the nftables tables, the rules and routes by the primary NIC, and the files
 * that restore them. They follow the node, survive failures of a NIC, and go with the last NIC.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import { ipWrapper } from '../../../test/rigs/host/ip-wrapper.ts'
import { kernelState, macsOf, primaryRoutes, routesInTable } from '../../../test/rigs/host/kernel-state.ts'
import {
  diskOf,
  foreignState,
  nodeFactory,
  type RigNic,
  type RigNode,
  requestedInterface,
} from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { AgentInput } from '../../contract/agent-input.ts'

const node = nodeFactory(after)
/** Waits are short, and no gateway has to reply. */
const quick = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false' }

const requestAll = (vm: RigNode) => vm.nics.map((nic, index) => requestedInterface(nic, index))
const rulesOf = (vm: RigNode) => kernelState(vm)['rules'] ?? []
const tablesOf = (vm: RigNode) => vm.exec('nft', 'list', 'ruleset')
const recordOf = (vm: RigNode) => vm.path('var/lib/multinic/node.json')
const ourFiles = (vm: RigNode) => diskOf(vm, path => /multinic/.test(path) && !/\/backup\//.test(path))

/** Everything that belongs to no single NIC. */
function sharedState(vm: RigNode) {
  return {
    table: routesInTable(vm, 110),
    rules: rulesOf(vm),
    nft: tablesOf(vm),
    files: diskOf(vm, path => /\/etc\/multinic\/|\/systemd\/system\//.test(path)),
    record: readFileSync(recordOf(vm), 'utf8'),
  }
}

async function apply(vm: RigNode, interfaces: AgentInput['interfaces']): Promise<void> {
  const ran = await vm.agent({ interfaces }, quick)
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
}

async function configured(nics: number): Promise<{ vm: RigNode; a: RigNic; b: RigNic }> {
  const vm = await node({ nics })
  await apply(vm, requestAll(vm))
  const [a, b = a] = vm.nics
  assert.ok(a && b)
  return { vm, a, b }
}

/** A change by somebody else, and what the check says about it. */
interface Drift {
  change(vm: RigNode): void
  messages: RegExp[]
  /** The state after the next run; without this, that from before the change. */
  after?(vm: RigNode): void
}

const drifts: Record<string, Drift> = {
  'nft flush ruleset': {
    change: vm => vm.exec('nft', 'flush', 'ruleset'),
    messages: [/add nft table ip multinic/],
  },
  'a changed table': {
    change: vm => vm.exec('nft', 'flush', 'chain', 'ip', 'multinic', 'output'),
    messages: [/nft table ip multinic/],
  },
  'a deleted rule of the primary network': {
    change: vm => vm.ip('rule', 'del', 'priority', '10090'),
    messages: [/add rule from 10\.0\.0\.0\/24 iif lo lookup 254 suppress_prefixlength 24 priority 10090/],
  },
  'a deleted rule for replies by the primary NIC': {
    change: vm => vm.ip('rule', 'del', 'priority', '10010'),
    messages: [/add rule from 0\.0\.0\.0\/0 fwmark 0x58\/0x78 lookup 110 priority 10010/],
  },
  'a deleted route by the primary NIC': {
    change: vm => vm.ip('route', 'del', '10.101.0.0/24', 'table', '110'),
    messages: [/add route 10\.101\.0\.0\/24 via 10\.0\.0\.1 table 110/],
  },
  'a primary NIC that lost its lease and got it again': {
    change(vm) {
      vm.ip('-4', 'address', 'flush', 'dev', 'ens3')
      vm.ip('address', 'add', '10.0.0.10/24', 'dev', 'ens3')
      vm.ip('route', 'add', 'default', 'via', '10.0.0.1', 'dev', 'ens3')
    },
    messages: [/packets from 10\.0\.0\.10 to 10\.100\.0\.1 leave by multinic0, expected by another device/],
  },
  'a strict reverse path filter on a NIC': {
    change: vm => vm.exec('sysctl', '-qw', 'net.ipv4.conf.all.rp_filter=1', 'net.ipv4.conf.multinic1.rp_filter=1'),
    messages: [/^multinic1: ipv4\.rp_filter 1 to 2$/],
    after: vm => assert.equal(vm.exec('sysctl', '-n', 'net.ipv4.conf.multinic1.rp_filter').trim(), '2'),
  },
  'all rules of a NIC and of the node flushed': {
    change(vm) {
      for (const family of ['-4', '-6']) {
        vm.ip(family, 'rule', 'flush')
        vm.ip(family, 'rule', 'add', 'lookup', 'main', 'priority', '32766')
        vm.ip(family, 'rule', 'add', 'lookup', 'default', 'priority', '32767')
      }
    },
    messages: [/add rule from 10\.100\.0\.0\/24 iif lo lookup 100 priority 10070/],
  },
  'another gateway of the node': {
    change(vm) {
      vm.fabricIp('address', 'add', '10.0.0.2/24', 'dev', 'br0')
      vm.ip('route', 'replace', 'default', 'via', '10.0.0.2', 'dev', 'ens3')
    },
    messages: [
      /add route 10\.100\.0\.0\/24 via 10\.0\.0\.2 table 110/,
      /remove route 10\.100\.0\.0\/24 via 10\.0\.0\.1/,
    ],
    after(vm) {
      const expected = primaryRoutes(vm.nics.map(({ cidr }) => cidr)).map(line => line.replace('10.0.0.1', '10.0.0.2'))
      assert.deepEqual(routesInTable(vm, 110), expected)
      assert.doesNotMatch(readFileSync(vm.path('etc/multinic/primary-routes.batch'), 'utf8'), /10\.0\.0\.1 /)
      assert.doesNotMatch(readFileSync(recordOf(vm), 'utf8'), /10\.0\.0\.1 /)
    },
  },
}

suite('the state that all NICs share', { concurrency: 3 }, () => {
  for (const [name, { change, messages, after: expect }] of Object.entries(drifts))
    test(`${name} is reported and repaired`, async () => {
      const { vm } = await configured(2)
      const interfaces = requestAll(vm)
      const before = sharedState(vm)
      change(vm)
      const drifted = await vm.agent({ mode: 'check', interfaces }, quick)
      assert.equal(drifted.report?.verdict, 'Drifted', drifted.log)
      for (const message of messages) assert.match(drifted.report?.message ?? '', message)
      await apply(vm, interfaces)
      if (expect) expect(vm)
      else assert.deepEqual(sharedState(vm), before)
      const checked = await vm.agent({ mode: 'check', interfaces }, quick)
      assert.equal(checked.report?.verdict, 'InSync', checked.log)
    })

  test('a NIC whose update fails keeps its marks, routes and boot files', async () => {
    const { vm, a, b } = await configured(2)
    const before = sharedState(vm)
    // The kernel refuses the machine itself as gateway.
    const routes = [{ destination: '172.20.0.0/16', nexthop: '127.0.0.1' }]
    const moved = { address: '10.200.0.10', cidr: '10.200.0.0/24', gateway: '10.200.0.1', routes }
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0, moved), requestedInterface(b, 1)] }, quick)
    assert.deepEqual(
      ran.report?.interfaces.map(({ status, reason }) => [status, reason]),
      [
        ['Failed', 'CommandFailed'],
        ['Configured', 'Configured'],
      ],
      ran.log,
    )
    assert.deepEqual(sharedState(vm), before)
    const checked = await vm.agent({ mode: 'check', interfaces: requestAll(vm) }, quick)
    assert.equal(checked.report?.verdict, 'InSync', checked.log)
  })

  test('a new NIC that fails leaves nothing in the shared state', async () => {
    const { vm, a } = await configured(1)
    const before = sharedState(vm)
    const late = vm.plug()
    const bad = requestedInterface(late, 1, { routes: [{ destination: '172.20.0.0/16', nexthop: '127.0.0.1' }] })
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0), bad] }, quick)
    assert.deepEqual(
      ran.report?.interfaces.map(({ status }) => status),
      ['Configured', 'Failed'],
      ran.log,
    )
    assert.deepEqual(sharedState(vm), before)
  })

  test('the removal of a NIC keeps the marks of the others', async () => {
    const { vm, a, b } = await configured(2)
    await apply(vm, [requestedInterface(b, 1)])
    const own = ['10001: from all fwmark 0x10/0x78 lookup 101 proto static']
    assert.deepEqual(
      rulesOf(vm).filter(rule => /^1000\d:/.test(rule)),
      own,
    )
    assert.deepEqual(routesInTable(vm, 110), primaryRoutes([b.cidr]))
    const tables = tablesOf(vm)
    assert.match(tables, /"multinic1" : goto enter1/)
    assert.match(tables, /ct label set 101/)
    assert.doesNotMatch(tables, /multinic0|10\.100\.|ct label set 100/)
    for (const text of Object.values(sharedState(vm).files)) assert.doesNotMatch(text, /multinic0|10\.100\./)
    await apply(vm, [requestedInterface(a, 0), requestedInterface(b, 1)])
    assert.match(tablesOf(vm), /ct label set 100[\s\S]*ct label set 101/)
  })

  test('a cleanup removes tables, rules, routes, files, units and the record, and nothing foreign', async () => {
    const vm = await node({ nics: 2 })
    vm.exec('nft', 'add table ip other; add chain ip other c; add rule ip other c meta mark set 0x8')
    for (const rule of ['fwmark 0x8/0x78 lookup 200 priority 10000', 'from 10.0.0.0/24 lookup 201 priority 10090'])
      vm.ip('rule', 'add', ...rule.split(' '))
    const [foreign, state] = [foreignState(vm, macsOf(vm)), kernelState(vm)]
    await apply(vm, requestAll(vm))
    assert.equal(foreignState(vm, macsOf(vm)), foreign)
    assert.match(tablesOf(vm), /table ip multinic/)
    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] }, quick)
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    assert.equal(foreignState(vm, macsOf(vm)), foreign)
    assert.doesNotMatch(tablesOf(vm), /multinic/)
    assert.deepEqual(kernelState(vm), state)
    assert.deepEqual(routesInTable(vm, 110), [])
    assert.deepEqual(Object.keys(ourFiles(vm)), [])
    assert.equal(existsSync(recordOf(vm)), false)
  })

  test('a node without the nft program gets NICs, and the message says what does not work', async () => {
    const vm = await node({ nics: 2 })
    const interfaces = requestAll(vm)
    const bin = vm.path('bin')
    mkdirSync(bin)
    // Two of them start the agent in the namespace of the node.
    for (const program of ['ip', 'nsenter', 'setpriv'])
      symlinkSync(vm.exec('which', program).trim(), `${bin}/${program}`)
    const env = { ...quick, PATH: bin }
    const note = /^Pods do not answer NodePorts by this NIC, .*there is no nft program$/
    const ran = await vm.agent({ interfaces }, env)
    assert.deepEqual([ran.report?.verdict, ran.report?.reason], ['Configured', 'Configured'], ran.log)
    for (const { message } of ran.report?.interfaces ?? []) assert.match(message ?? '', note)
    assert.equal(tablesOf(vm), '')
    vm.exec('ping', '-c1', '-W2', '-I', '10.100.0.10', '10.100.0.1')
    const checked = await vm.agent({ mode: 'check', interfaces }, env)
    assert.equal(checked.report?.verdict, 'InSync', checked.log)
    for (const { message } of checked.report?.interfaces ?? []) assert.match(message ?? '', note)
    const again = await vm.agent({ interfaces }, env)
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
  })

  test('NICs that exchange their indexes keep their marks and labels', async () => {
    const { vm, a, b } = await configured(2)
    await apply(vm, [requestedInterface(b, 0), requestedInterface(a, 1)])
    assert.deepEqual(
      rulesOf(vm).filter(rule => /^1000\d:/.test(rule)),
      [
        '10000: from all fwmark 0x10/0x78 lookup 100 proto static',
        '10001: from all fwmark 0x8/0x78 lookup 101 proto static',
      ],
    )
    const tables = tablesOf(vm)
    assert.match(tables, /"multinic0" : goto enter1/)
    assert.match(tables, /"multinic1" : goto enter0/)
    assert.match(tables, /10\.100\.0\.0\/24 : goto from0, 10\.101\.0\.0\/24 : goto from1/)
    assert.match(tables, /chain enter0 \{[^}]*ct label set 100\n/)
    assert.match(tables, /chain from0 \{\s*oifname != "multinic1"/)
    const checked = await vm.agent(
      { mode: 'check', interfaces: [requestedInterface(b, 0), requestedInterface(a, 1)] },
      quick,
    )
    assert.equal(checked.report?.verdict, 'InSync', checked.log)
  })

  test('a run that is killed after it loaded the tables leaves nothing after the next run', async () => {
    const vm = await node({ nics: 2 })
    const [foreign, state] = [foreignState(vm, macsOf(vm)), kernelState(vm)]
    const marker = vm.path('applying')
    const env = ipWrapper(vm, `case "$lines" in *" name multinic0"*) touch ${marker}; exec sleep 1 ;; esac`)
    const run = vm.start({ interfaces: requestAll(vm) }, { ...quick, ...env })
    await eventually(() => assert.ok(existsSync(marker), run.log()), { within: 60_000, every: 5 })
    process.kill(run.pid, 'SIGKILL')
    await run.done
    assert.match(tablesOf(vm), /table ip multinic/)
    const next = await vm.agent({ interfaces: [] }, quick)
    assert.match(next.log, /previous run did not finish, rolling back its changes/)
    assert.equal(tablesOf(vm), '')
    assert.deepEqual(kernelState(vm), state)
    assert.equal(foreignState(vm, macsOf(vm)), foreign)
    assert.deepEqual([Object.keys(ourFiles(vm)), existsSync(recordOf(vm))], [[], false])
    await apply(vm, requestAll(vm))
  })
})
