/**
 * What the agent asks on the wire, between namespaces on a real kernel: who has an address already, and who still answers.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { hasNetworkd, startRouter } from '../../test/rigs/host/boot.ts'
import { kernel, macsOf } from '../../test/rigs/host/kernel-state.ts'
import { diskOf, foreignState, type Ran, wish, withNode } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'

const outcome = (ran: Ran) => ran.report?.interfaces.map(nic => [nic.status, nic.reason, nic.message])

/** An `ip` after whose first rename the primary NIC hears nothing any more. */
const deafening = `#!/bin/sh
lines=$(cat)
case "$lines" in *" name multinic0"*)
  nft 'add table netdev deaf; add chain netdev deaf in { type filter hook ingress device ens3 priority 0; policy drop; }'
esac
echo "$lines" | /sbin/ip "$@"
`

/** They mostly wait for the wire and for processes: each has its own node, and they need not wait for each other. */
suite('on the wire', { concurrency: 3 }, () => {
  test('an IPv4 address that another machine has is refused with its MAC, alone, and can be taken on a person’s word', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      // The machine stands behind the router of the network, as far as ARP goes.
      vm.fabricIp('address', 'add', `${a.address}/24`, 'dev', 'br1')
      const owner = (JSON.parse(vm.fabricIp('-j', 'link', 'show', 'br1')) as { address: string }[])[0]?.address
      const before = foreignState(vm, macsOf(vm))
      const interfaces = [wish(a, 0), wish(b, 1)]
      const ran = await vm.agent({ interfaces })
      assert.deepEqual(
        outcome(ran),
        [
          ['Failed', 'AddressConflict', `${owner} on the wire has ${a.address}`],
          ['Configured', 'Configured', undefined],
        ],
        ran.log,
      )
      assert.deepEqual(kernel(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'multinic1 up 1450'])
      assert.deepEqual(kernel(vm)['addresses'], ['ens3 10.0.0.10/24', 'multinic1 10.101.0.10/24 noprefixroute'])
      assert.equal(vm.exec('cat', '/proc/sys/net/ipv6/conf/ens4/accept_ra').trim(), '1')
      assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), [])
      assert.equal(foreignState(vm, macsOf(vm)), before)
      // Nobody on that wire was told of the primary's address from another MAC.
      assert.doesNotMatch(vm.fabricIp('neigh', 'show', 'dev', 'br1'), /10\.0\.0\.10/)

      const forced = await vm.agent({ interfaces }, { NETWORK_DUPLICATE_CHECK: 'false' })
      assert.equal(forced.report?.verdict, 'Configured', forced.log)
    }))

  test('an IPv6 address that another machine has is found by the kernel, and the NIC is taken back', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.fabricIp('address', 'add', a.address6, 'dev', 'br1', 'nodad')
      // The kernel asks at a time of its own choice within a second; here at once.
      vm.exec('sysctl', '-qw', 'net.ipv6.conf.ens4.router_solicitation_delay=0')
      const ran = await vm.agent({ interfaces: [wish(a, 0, { addresses: [a.address6] })] })
      assert.deepEqual(
        outcome(ran)?.map(([status, reason]) => [status, reason]),
        [['Failed', 'AddressConflict']],
        ran.log,
      )
      assert.ok(ran.report?.message.includes('fd00::10/64'), ran.report?.message)
      assert.deepEqual(kernel(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500'])
    }))

  test('the gateway of a NIC is told when it is silent, required on request, and asked nothing when off', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
      const interfaces = [wish(a, 0), wish(b, 1)]
      const required = await vm.agent({ interfaces }, { NETWORK_PROBE: 'reported,multinic0=required' })
      assert.deepEqual(
        outcome(required),
        [
          ['Failed', 'GatewayUnreachable', `${a.gateway} does not answer`],
          ['Configured', 'Configured', undefined],
        ],
        required.log,
      )
      assert.ok(kernel(vm)['links']?.includes('ens4 down 1500'))

      const told = await vm.agent({ interfaces })
      assert.deepEqual(
        outcome(told),
        [
          ['Configured', 'Configured', `${a.gateway} does not answer`],
          ['Configured', 'Configured', undefined],
        ],
        told.log,
      )

      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      const off = await vm.agent({ interfaces }, { NETWORK_PROBE: 'off' })
      assert.deepEqual(outcome(off)?.[0], ['Configured', 'Configured', undefined], off.log)
    }))

  test('a peer is asked instead of the gateway by the NIC that is in its network', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
      vm.fabricIp('address', 'add', '10.100.0.77/24', 'dev', 'br1')
      const env = { NETWORK_PROBE: 'required', NETWORK_PROBE_PEERS: '10.99.0.1,10.100.0.77' }
      const ran = await vm.agent({ interfaces: [wish(a, 0)] }, env)
      assert.deepEqual(outcome(ran), [['Configured', 'Configured', undefined]], ran.log)
    }))

  test('a NIC whose gateway answered before the change and not after it goes back to what it was', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const good = await vm.agent({ interfaces: [wish(a, 0)] })
      assert.equal(good.report?.verdict, 'Configured', good.log)
      const state = { ...kernel(vm), files: diskOf(vm) }
      // The router answers nobody of another network from now on.
      vm.fabricExec('sysctl', '-qw', 'net.ipv4.conf.all.arp_ignore=2')
      const moved = wish(a, 0, { address: '10.200.0.10', cidr: '10.200.0.0/24', gateway: a.gateway })
      const ran = await vm.agent({ interfaces: [moved] })
      assert.deepEqual(
        outcome(ran),
        [['Failed', 'GatewayUnreachable', `${a.gateway} answered before the change and does not answer any more`]],
        ran.log,
      )
      assert.deepEqual({ ...kernel(vm), files: diskOf(vm) }, state)
    }))

  test('a node whose gateway falls silent by the change gets everything back', () =>
    withNode({ nics: 2 }, async vm => {
      const [a, b] = vm.nics
      assert.ok(a && b)
      mkdirSync(vm.path('bin'))
      writeFileSync(vm.path('bin/ip'), deafening, { mode: 0o755 })
      const env = { PATH: `${vm.path('bin')}:/usr/sbin:/usr/bin:/sbin:/bin`, KUBERNETES_SERVICE_HOST: '10.0.0.1' }
      const ran = await vm.agent({ interfaces: [wish(a, 0), wish(b, 1)] }, env)
      assert.deepEqual(
        outcome(ran)?.map(([status, reason]) => [status, reason]),
        [
          ['Failed', 'ProbeFailed'],
          ['Failed', 'ProbeFailed'],
        ],
        ran.log,
      )
      assert.match(ran.report?.message ?? '', /the answer of gateway 10\.0\.0\.1, the answer of the API server/)
      assert.deepEqual(kernel(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'ens5 down 1500'])
    }))

  test('an altname that another device has is done without, and the next run changes nothing', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const interfaces = [wish(a, 0, { portId: 'taken' })]
      vm.ip('link', 'property', 'add', 'dev', 'ens3', 'altname', 'taken')
      const ran = await vm.agent({ interfaces })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      const again = await vm.agent({ interfaces })
      assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
    }))

  test('router advertisements count where that is asked for, but for their default route', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      const interfaces = [wish(a, 0)]
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
      `a router that advertises itself gives no default route, and ${accepted ? 'an' : 'no'} address`,
      {
        skip: !hasNetworkd,
      },
      () =>
        withNode({ nics: 2, oneSubnet: true }, async vm => {
          const [a, other] = vm.nics
          assert.ok(a && other)
          const as = (setting: boolean) =>
            vm.agent({ interfaces: [wish(a, 0)] }, { NETWORK_ACCEPT_RA: String(setting) })
          // Whatever was asked before: what is asked now counts.
          await as(!accepted)
          const ran = await as(accepted)
          assert.equal(ran.report?.verdict, 'Configured', ran.log)
          // A NIC of nobody on the same wire believes everything: it shows that there was something to believe.
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

  test('an IPv6 gateway that is the address of its network works, on a node that forwards too', () =>
    withNode({ nics: 1 }, async vm => {
      const [a] = vm.nics
      assert.ok(a)
      vm.exec('sysctl', '-qw', 'net.ipv6.conf.all.forwarding=1')
      const { address: _, cidr: __, ...plain } = wish(a, 0)
      const ran = await vm.agent({ interfaces: [{ ...plain, addresses: [a.address6], gateway: 'fd00:0::' }] })
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      assert.match(vm.ip('-6', 'route', 'show', 'table', '100'), /default via fd00:: dev multinic0/)
    }))
})
