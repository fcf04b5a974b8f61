/**
 * Probes between namespaces on a real kernel: duplicate addresses and connectivity.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { hasNetworkd, startRouter } from '../../../test/rigs/host/boot.ts'
import { ipWrapper } from '../../../test/rigs/host/ip-wrapper.ts'
import { kernelState, macsOf } from '../../../test/rigs/host/kernel-state.ts'
import {
  type AgentResult,
  diskOf,
  foreignState,
  type RigNode,
  requestedInterface,
  withNode,
} from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const outcome = (ran: AgentResult) => ran.report?.interfaces.map(nic => [nic.status, nic.reason, nic.message])

/** An `ip` that makes the primary NIC drop all input at the first rename. */
const droppingIp = (vm: RigNode) =>
  ipWrapper(
    vm,
    `case "$lines" in *" name multinic0"*)
  nft 'add table netdev blocked; add chain netdev blocked in { type filter hook ingress device ens3 priority 0; policy drop; }'
esac`,
  )

/** The fabric drops neighbour solicitations of the first NIC for fd00::10 that match. */
function dropSolicitations(vm: RigNode, match: string): void {
  vm.fabricExec(
    'nft',
    `add table netdev lossy; add chain netdev lossy in { type filter hook ingress device p1 priority 0; };
     add rule netdev lossy in ip6 daddr ff02::1:ff00:10 icmpv6 type nd-neighbor-solicit ${match} drop`,
  )
}

/** The tests mostly wait for packets and processes, and each has a node of its own, so they run concurrently. */
suite('probes', { concurrency: 3 }, () => {
  test('a NIC whose IPv4 address another host uses fails alone, with its MAC address; NETWORK_DUPLICATE_CHECK=false overrides', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      // To ARP, the router of the network is the other host.
      vm.fabricIp('address', 'add', `${a.address}/24`, 'dev', 'br1')
      const owner = (JSON.parse(vm.fabricIp('-j', 'link', 'show', 'br1')) as { address: string }[])[0]?.address
      const before = foreignState(vm, macsOf(vm))
      const interfaces = [requestedInterface(a, 0), requestedInterface(b, 1)]
      const ran = await vm.agent({ interfaces })
      assert.deepEqual(
        outcome(ran),
        [
          ['Failed', 'AddressConflict', `another host with MAC address ${owner} uses ${a.address}`],
          ['Configured', 'Configured', undefined],
        ],
        ran.log,
      )
      assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'multinic1 up 1450'])
      assert.deepEqual(kernelState(vm)['addresses'], ['ens3 10.0.0.10/24', 'multinic1 10.101.0.10/24 noprefixroute'])
      assert.equal(vm.exec('cat', '/proc/sys/net/ipv6/conf/ens4/accept_ra').trim(), '1')
      assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), [])
      assert.equal(foreignState(vm, macsOf(vm)), before)
      // No neighbour learned the primary's address from another NIC.
      assert.doesNotMatch(vm.fabricIp('neigh', 'show', 'dev', 'br1'), /10\.0\.0\.10/)

      const forced = await vm.agent({ interfaces }, { NETWORK_DUPLICATE_CHECK: 'false' })
      assert.equal(forced.report?.verdict, 'Configured', forced.log)
    }))

  test('a NIC whose IPv6 address another host uses fails with its MAC address, although the first packets are lost', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.fabricIp('address', 'add', a.address6, 'dev', 'br1', 'nodad')
      const owner = (JSON.parse(vm.fabricIp('-j', 'link', 'show', 'br1')) as { address: string }[])[0]?.address
      dropSolicitations(vm, 'numgen inc mod 1000 < 2')
      const ran = await vm.agent({ interfaces: [requestedInterface(a, 0, { addresses: [a.address6] })] })
      assert.deepEqual(
        outcome(ran),
        [['Failed', 'AddressConflict', `another host with MAC address ${owner} uses fd00::10`]],
        ran.log,
      )
      assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500'])
      assert.doesNotMatch(vm.ip('-6', 'address', 'show', 'ens4'), /inet6/)
    }))

  test('the agent waits for the duplicate address detection of the kernel, however long it takes', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.fabricIp('address', 'add', a.address6, 'dev', 'br1', 'nodad')
      // Only the kernel's third packet, after two seconds, reaches the other host. Those of the agent are dropped.
      vm.exec('sysctl', '-qw', 'net.ipv6.conf.ens4.dad_transmits=3')
      dropSolicitations(vm, 'ip6 saddr fe80::/10')
      dropSolicitations(vm, 'ip6 saddr :: numgen inc mod 1000 < 2')
      const ran = await vm.agent({ interfaces: [requestedInterface(a, 0, { addresses: [a.address6] })] })
      assert.deepEqual(outcome(ran), [['Failed', 'AddressConflict', 'another host uses fd00::10/64']], ran.log)
      assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500'])
    }))

  test('a missing reply of the gateway is reported, fails the NIC with required, and is not probed for with off', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
      const interfaces = [requestedInterface(a, 0), requestedInterface(b, 1)]
      const required = await vm.agent({ interfaces }, { NETWORK_PROBE: 'reported,multinic0=required' })
      assert.deepEqual(
        outcome(required),
        [
          ['Failed', 'GatewayUnreachable', `no reply from ${a.gateway}`],
          ['Configured', 'Configured', undefined],
        ],
        required.log,
      )
      assert.ok(kernelState(vm)['links']?.includes('ens4 down 1500'))

      const reported = await vm.agent({ interfaces })
      assert.deepEqual(
        outcome(reported),
        [
          ['Configured', 'Configured', `no reply from ${a.gateway}`],
          ['Configured', 'Configured', undefined],
        ],
        reported.log,
      )

      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      const off = await vm.agent({ interfaces }, { NETWORK_PROBE: 'off' })
      assert.deepEqual(outcome(off)?.[0], ['Configured', 'Configured', undefined], off.log)
    }))

  test('a NIC probes a peer in its network instead of its gateway', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
      vm.fabricIp('address', 'add', '10.100.0.77/24', 'dev', 'br1')
      const env = { NETWORK_PROBE: 'required', NETWORK_PROBE_PEERS: '10.99.0.1,10.100.0.77' }
      const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] }, env)
      assert.deepEqual(outcome(ran), [['Configured', 'Configured', undefined]], ran.log)
    }))

  test('a NIC whose gateway replied before the change but not after it is rolled back', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const good = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
      assert.equal(good.report?.verdict, 'Configured', good.log)
      const state = { ...kernelState(vm), files: diskOf(vm) }
      // From now on the router does not reply to other networks.
      vm.fabricExec('sysctl', '-qw', 'net.ipv4.conf.all.arp_ignore=2')
      const moved = requestedInterface(a, 0, { address: '10.200.0.10', cidr: '10.200.0.0/24', gateway: a.gateway })
      const ran = await vm.agent({ interfaces: [moved] })
      assert.deepEqual(
        outcome(ran),
        [['Failed', 'GatewayUnreachable', `${a.gateway} replied before the change but not after it`]],
        ran.log,
      )
      assert.deepEqual({ ...kernelState(vm), files: diskOf(vm) }, state)
    }))

  test('all changes are rolled back when the gateway of the node stops replying', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      const env = { ...droppingIp(vm), KUBERNETES_SERVICE_HOST: '10.0.0.1' }
      const ran = await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] }, env)
      assert.deepEqual(
        outcome(ran)?.map(([status, reason]) => [status, reason]),
        [
          ['Failed', 'ProbeFailed'],
          ['Failed', 'ProbeFailed'],
        ],
        ran.log,
      )
      assert.match(ran.report?.message ?? '', /reply from gateway 10\.0\.0\.1, reply from the API server/)
      assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'ens5 down 1500'])
    }))

  test('an altname that another device has is skipped, and the next run changes nothing', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const interfaces = [requestedInterface(a, 0, { portId: 'in-use' })]
      vm.ip('link', 'property', 'add', 'dev', 'ens3', 'altname', 'in-use')
      const ran = await vm.agent({ interfaces })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      const again = await vm.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
    }))

  test('NETWORK_ACCEPT_RA accepts router advertisements except their default route', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const interfaces = [requestedInterface(a, 0)]
      const ran = await vm.agent({ interfaces }, { NETWORK_ACCEPT_RA: 'true' })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      const setting = (name: string, device = 'multinic0') =>
        vm.exec('cat', `/proc/sys/net/ipv6/conf/${device}/${name}`).trim()
      assert.deepEqual([setting('accept_ra'), setting('autoconf'), setting('accept_ra_defrtr')], ['1', '1', '0'])
      assert.match(readFileSync(vm.path('etc/systemd/network/05-multinic0.network'), 'utf8'), /UseGateway=no/)
      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      assert.equal(setting('accept_ra_defrtr', 'ens4'), '1')
    }))

  for (const accepted of [true, false])
    test(
      `a router advertisement adds no default route, and ${accepted ? 'an' : 'no'} address`,
      {
        skip: !hasNetworkd,
      },
      () =>
        withNode({ nics: 2, oneSubnet: true }, async vm => {
          const [a, other] = vm.nics
          assert.ok(a && other)
          const as = (setting: boolean) =>
            vm.agent({ interfaces: [requestedInterface(a, 0)] }, { NETWORK_ACCEPT_RA: String(setting) })
          // The setting of the last run counts, not that of the first.
          await as(!accepted)
          const ran = await as(accepted)
          assert.equal(ran.report?.verdict, 'Configured', ran.log)
          // A NIC that multinic does not manage accepts the advertisement: it proves that there was one.
          vm.ip('link', 'set', other.name, 'up')
          const router = startRouter(vm)
          try {
            const addressed = (device: string) =>
              / inet6 fd00::\S+ .*dynamic/.test(vm.ip('-o', 'address', 'show', device))
            await eventually(
              () => {
                assert.match(vm.ip('-6', 'route', 'show', 'default'), new RegExp(`dev ${other.name} proto ra`))
                assert.deepEqual([addressed(other.name), addressed('multinic0')], [true, accepted])
              },
              { within: 60_000 },
            )
            assert.doesNotMatch(vm.ip('-6', 'route', 'show', 'table', 'all', 'default'), /multinic0/)
          } finally {
            await router.stop()
          }
        }),
    )

  test('an IPv6 gateway may be the address of its network, also on a node that forwards', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.exec('sysctl', '-qw', 'net.ipv6.conf.all.forwarding=1')
      const { address: _, cidr: __, ...plain } = requestedInterface(a, 0)
      const ran = await vm.agent({ interfaces: [{ ...plain, addresses: [a.address6], gateway: 'fd00:0::' }] })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      assert.match(vm.ip('-6', 'route', 'show', 'table', '100'), /default via fd00:: dev multinic0/)
    }))
})
