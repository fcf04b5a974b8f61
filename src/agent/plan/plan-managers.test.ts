/** What a plan changes of a NIC that NetworkManager or networkd configures too. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hostPaths } from '../paths.ts'
import { describeChange } from '../state/change.ts'
import type { Link, Observed } from '../state/observed.ts'
import {
  afterPlan,
  aNode,
  anAddress,
  anInterface,
  aRoute,
  changesOf,
  kernelChangesOf,
  planOf,
} from '../test/agent.fixture.ts'
import type { Plan } from './plan.ts'

const configured = afterPlan(aNode(1), [anInterface(0)])
const withLink = (values: Partial<Link>, base = aNode(1), ifindex = 3): Observed => ({
  ...base,
  links: base.links.map(link => (link.ifindex === ifindex ? { ...link, ...values } : link)),
})
const linesOf = ({ units }: Plan) => units.flatMap(({ changes }) => changes.map(describeChange))
const without = (path: string, { files, ...rest }: Observed): Observed => {
  const { [path]: _, ...kept } = files
  return { ...rest, files: kept }
}

const directories = [hostPaths.networkManager, hostPaths.state]
const managed = aNode(1, { managers: { 3: 'other' }, directories })
const profile = '/etc/NetworkManager/system-connections/multinic0.nmconnection'
const v6 = [anInterface(0, { addresses: ['fd00::10/64'] })]
const linkLocal = 'add route fe80::/64 table 100 metric 1024 protocol 2'

test('NetworkManager releases a NIC of its own first, and keeps one with our profile unless more than a file changes', () => {
  assert.equal(linesOf(planOf(managed, [anInterface(0)]))[0], 'release from NetworkManager')
  const ours = { ...afterPlan(managed, [anInterface(0)]), managers: { 3: 'ours' as const } }
  assert.deepEqual(linesOf(planOf(ours, [anInterface(0)])), [])
  assert.deepEqual(linesOf(planOf(without(profile, ours), [anInterface(0)])), [`write ${profile}`])
  assert.deepEqual(linesOf(planOf(withLink({ mtu: 1300 }, ours), [anInterface(0)])), [
    'release from NetworkManager',
    'mtu 1300 to 1450',
  ])
})

test('with NetworkManager a NIC with IPv6 gets the link-local route that NetworkManager adds at boot, once', () => {
  assert.ok(linesOf(planOf(managed, v6)).includes(linkLocal))
  assert.ok(!linesOf(planOf(managed, [anInterface(0)])).includes(linkLocal))
  assert.ok(!linesOf(planOf(aNode(1), v6)).includes(linkLocal), 'networkd does not')
  const present = aRoute(3, 'fe80::/64', { table: 100, protocol: 2, metric: 256 })
  const after = afterPlan(managed, v6)
  assert.ok(!linesOf(planOf({ ...after, routes: [...after.routes, present] }, v6)).includes(linkLocal))
  const elsewhere = aRoute(3, 'fe80::/64', { table: 254, protocol: 2, metric: 256 })
  assert.ok(linesOf(planOf({ ...managed, routes: [...managed.routes, elsewhere] }, v6)).includes(linkLocal))
})

test('what NetworkManager leaves of its own link-local address goes, and the kernel’s stays', () => {
  const left = anAddress(3, 'fe80::1234/64', { linkLocal: true, noPrefixRoute: true })
  const derived = anAddress(3, 'fe80::f816:3eff:fe00:1/64', { linkLocal: true, noPrefixRoute: true })
  const route = aRoute(3, 'fe80::/64', { protocol: 2, metric: 1024 })
  const lines = (node: Observed) =>
    linesOf(
      planOf({ ...node, addresses: [...node.addresses, left, derived], routes: [...node.routes, route] }, [
        anInterface(0),
      ]),
    ).filter(line => line.startsWith('remove'))
  assert.deepEqual(lines(managed), [
    'remove route fe80::/64 table 254 metric 1024 protocol 2',
    'remove address fe80::1234/64 noprefixroute',
  ])
  assert.deepEqual(lines(aNode(1)), [])
})

test('a NIC that networkd still configures by a file of others is handed over by writing ours again', () => {
  const network = '/etc/systemd/network/05-multinic0.network'
  const lines = (more: Partial<Observed>, env: Record<string, string> = {}) =>
    linesOf(planOf({ ...configured, ...more }, [anInterface(0)], env))
  const loaded = { networkdFiles: { 3: '/run/systemd/network/10-netplan-all.network' } }
  assert.deepEqual(lines(loaded), [`rewrite ${network}`])
  assert.deepEqual(lines({ networkdFiles: { 3: network } }), [])
  assert.deepEqual(lines({ ...loaded, networkdChanged: '/etc/systemd/network/20-ens3.network' }), [])
  assert.deepEqual(lines(loaded, { NETWORK_TAKEOVER: 'refuse' }), [])
})

test('an IPv6 link-local address that is requested is ours, and others stay with the kernel', () => {
  const request = [anInterface(0, { addresses: ['fe80::77/64'] })]
  const after = afterPlan(aNode(1), request)
  const own = after.addresses.map(entry => (entry.cidr === 'fe80::77/64' ? { ...entry, linkLocal: true } : entry))
  const kernel = anAddress(3, 'fe80::f816:3eff:fe00:1/64', { linkLocal: true })
  assert.deepEqual(changesOf(planOf({ ...after, addresses: [...own, kernel] }, request)), [])
  assert.deepEqual(
    kernelChangesOf(planOf({ ...after, addresses: [...own, kernel] }, [anInterface(0)])).filter(line =>
      line.includes('address '),
    ),
    ['remove address fe80::77/64 noprefixroute'],
  )
})
