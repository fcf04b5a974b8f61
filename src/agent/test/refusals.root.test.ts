/**
 * The agent as a process, on a real kernel: what it refuses, and the state after a failure.
 */
import assert from 'node:assert/strict'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import {
  kernelState,
  macsOf,
  primaryRoutes,
  routesInTable,
  rulesOfNic,
  sharedRules,
} from '../../../test/rigs/host/kernel-state.ts'
import { diskOf, foreignState, nodeFactory, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const node = nodeFactory(after)

/** The tests mostly wait for packets and processes, and each has a node of its own, so they run concurrently. */
suite('refusals and failures', { concurrency: 3 }, () => {
  test('a machine with another SystemUUID is not changed', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const state = { ...kernelState(vm), files: diskOf(vm) }
    const wrong = await vm.agent({
      instanceId: '99999999-2222-3333-4444-555555555555',
      interfaces: [requestedInterface(a, 0)],
    })
    assert.deepEqual([wrong.code, wrong.report?.verdict, wrong.report?.reason], [0, 'Failed', 'WrongMachine'])
    assert.deepEqual({ ...kernelState(vm), files: diskOf(vm) }, state)
    // Some firmware reports the first three groups in the other byte order.
    const right = await vm.agent({
      instanceId: '11111111-2222-3333-4444-555555555555'.toUpperCase(),
      interfaces: [requestedInterface(a, 0)],
    })
    assert.equal(right.report?.verdict, 'Configured', right.log)
  })

  test('the primary NIC is refused, and the other NICs are configured', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const before = foreignState(vm, macsOf(vm))
    const primary = {
      ...requestedInterface(a, 1),
      macAddress: 'fa:16:3e:ff:00:00',
      portId: 'primary',
      address: '10.9.0.5',
      cidr: '10.9.0.0/24',
    }
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0), primary] })
    assert.equal(ran.report?.verdict, 'Failed')
    assert.deepEqual(
      ran.report?.interfaces.map(nic => [nic.status, nic.reason, nic.message]),
      [
        ['Configured', 'Configured', undefined],
        ['Failed', 'CarriesDefaultRoute', 'ens3 carries a default route via 10.0.0.1'],
      ],
    )
    assert.equal(foreignState(vm, macsOf(vm)), before)
  })

  test('a routing table with foreign routes is refused, never flushed', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    vm.ip('route', 'add', '172.16.0.0/16', 'via', '10.0.0.1', 'table', '100')
    const before = foreignState(vm, macsOf(vm))
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.deepEqual(
      [ran.report?.interfaces[0]?.reason, ran.report?.interfaces[0]?.message],
      ['RoutingTableInUse', 'a route to 172.16.0.0/16 via 10.0.0.1 in table 100 is not from multinic'],
    )
    assert.equal(foreignState(vm, macsOf(vm)), before)
    assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500'])
  })

  test('only the NIC that fails is rolled back, to its exact former state', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    // The kernel refuses the machine itself as gateway.
    const bad = requestedInterface(a, 0, { routes: [{ destination: '172.20.0.0/16', nexthop: '127.0.0.1' }] })
    const ran = await vm.agent({ interfaces: [bad, requestedInterface(b, 1)] })
    assert.equal(ran.report?.verdict, 'Failed', ran.log)
    assert.deepEqual(
      ran.report?.interfaces.map(nic => [nic.status, nic.reason]),
      [
        ['Failed', 'CommandFailed'],
        ['Configured', 'Configured'],
      ],
    )
    assert.deepEqual(ran.report?.undone, ['multinic0'])
    assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'multinic1 up 1450'])
    assert.deepEqual(kernelState(vm)['rules'], [...rulesOfNic(1, [b.cidr]), ...sharedRules].sort())
    assert.deepEqual(routesInTable(vm, 110), primaryRoutes([b.cidr]))
    assert.deepEqual(routesInTable(vm, 100), [])
    assert.equal(vm.exec('cat', '/proc/sys/net/ipv4/conf/ens4/arp_ignore').trim(), '0')
    assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), [])
  })

  test('invalid input is refused before any change, and every error is reported', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const state = { ...kernelState(vm), files: diskOf(vm) }
    const ran = await vm.agent(
      { interfaces: [{ ...requestedInterface(a, 0), mtu: 7, address: '10.1.1.300' }] },
      { NIC_WAIT: 'soon', NETWORK_ROUTE_METRIC: 'low' },
    )
    assert.deepEqual([ran.code, ran.report?.verdict, ran.report?.reason], [0, 'Failed', 'InputInvalid'])
    for (const name of ['NIC_WAIT', 'NETWORK_ROUTE_METRIC', 'interfaces[0].mtu', 'interfaces[0].address'])
      assert.ok(ran.report?.message.includes(name), ran.report?.message)
    assert.deepEqual({ ...kernelState(vm), files: diskOf(vm) }, state)
  })

  test('check and plan report differences and change nothing', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const plan = await vm.agent({ mode: 'plan', interfaces: [requestedInterface(a, 0)] })
    assert.equal(plan.report?.verdict, 'Planned')
    assert.match(plan.report?.message ?? '', /rename ens4 to multinic0/)
    assert.equal(existsSync(vm.path('var/lib/multinic/journal')), false)
    assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500'])

    await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    const sync = await vm.agent({ mode: 'check', interfaces: [requestedInterface(a, 0)] })
    assert.equal(sync.report?.verdict, 'InSync', sync.log)
    vm.ip('link', 'set', 'multinic0', 'mtu', '1300')
    const drift = await vm.agent({ mode: 'check', interfaces: [requestedInterface(a, 0)] })
    assert.equal(drift.report?.verdict, 'Drifted')
    assert.equal(drift.report?.interfaces[0]?.message, 'mtu 1300 to 1450')
    const [edited, gone] = ['etc/sysctl.d/90-multinic0.conf', 'etc/netplan/90-multinic0.yaml'].map(vm.path)
    assert.ok(edited && gone)
    writeFileSync(edited, 'edited')
    rmSync(gone)
    vm.ip('rule', 'del', 'from', a.cidr, 'iif', 'lo', 'lookup', '100', 'priority', '10070')
    const disk = diskOf(vm)
    const all = await vm.agent({ mode: 'check', interfaces: [requestedInterface(a, 0)] })
    assert.deepEqual(
      [all.report?.verdict, all.report?.interfaces[0]?.message?.split('; ').toSorted()],
      [
        'Drifted',
        [
          `add rule from ${a.cidr} iif lo lookup 100 priority 10070`,
          'mtu 1300 to 1450',
          `rewrite ${edited}`,
          `write ${gone}`,
        ],
      ],
      all.log,
    )
    assert.ok(kernelState(vm)['links']?.includes('multinic0 up 1300'))
    assert.deepEqual(diskOf(vm), disk)
  })

  test('a journal that cannot be written fails the run before any change', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const state = { ...kernelState(vm), files: diskOf(vm) }
    writeFileSync(vm.path('var/lib/multinic/journal'), 'in the way')
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.deepEqual([ran.code, ran.report?.verdict, ran.report?.reason], [0, 'Failed', 'PersistFailed'], ran.log)
    assert.deepEqual({ ...kernelState(vm), files: diskOf(vm) }, state)
  })

  test('one agent runs on a node at a time, and a waiting one exits soon after SIGTERM', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const absent = {
      ...requestedInterface(a, 1),
      macAddress: 'fa:16:3e:00:00:77',
      portId: 'absent',
      address: '10.9.0.9',
      cidr: '10.9.0.0/24',
    }
    const first = vm.start({ interfaces: [requestedInterface(a, 0), absent] }, { NIC_WAIT: '60s' })
    await eventually(() => assert.ok(kernelState(vm)['links']?.includes('multinic0 up 1450')), { within: 50_000 })
    const second = vm.start({ interfaces: [] })
    await eventually(() => assert.match(second.log(), /another agent is running on this node, waiting for it/), {
      within: 50_000,
    })
    process.kill(second.pid, 'SIGTERM')
    const busy = await second.done
    assert.ok(kernelState(vm)['links']?.includes('multinic0 up 1450'))
    process.kill(first.pid, 'SIGTERM')
    const ended = await first.done
    assert.deepEqual([ended.code, ended.report?.verdict], [0, 'Pending'], ended.log)
    assert.deepEqual([busy.code, busy.report], [75, undefined], busy.log)
  })
})
