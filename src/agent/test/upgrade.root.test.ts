/**
 * An upgrade in place: the agent adopts what the Go implementation left on a node, and renames nothing.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import { pingStream } from '../../../test/rigs/host/cloud.ts'
import { kernelState, rulesOfNic, sharedRules } from '../../../test/rigs/host/kernel-state.ts'
import { diskOf, nodeFactory, requestedInterface } from '../../../test/rigs/host/node.ts'

const node = nodeFactory(after)

suite('upgrade from the Go implementation', { concurrency: 2 }, () => {
  test('files and names of the Go implementation are adopted without a rename', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const theirs = `network:\n    ethernets:\n        multinic0:\n            addresses:\n                - ${a.address}/24\n            dhcp4: false\n            match:\n                macaddress: ${a.macAddress.toUpperCase()}\n            mtu: 1450\n            routes:\n                - metric: 100\n                  table: 100\n                  to: ${a.cidr}\n            routing-policy:\n                - from: ${a.address}/24\n                  table: 100\n            set-name: multinic0\n    version: 2\n`
    writeFileSync(vm.path('etc/netplan/90-multinic0.yaml'), theirs, { mode: 0o600 })
    for (const line of [
      'link set ens4 name multinic0',
      'link set multinic0 mtu 1450 up',
      `address add ${a.address}/24 dev multinic0 noprefixroute`,
      `route add ${a.cidr} dev multinic0 table 100 metric 100 src ${a.address}`,
      `rule add from ${a.address}/32 table 100`,
    ])
      vm.ip(...line.split(' '))
    const checked = await vm.agent({ mode: 'check', interfaces: [requestedInterface(a, 0)] })
    assert.deepEqual(
      [checked.report?.verdict, checked.report?.reason],
      ['Drifted', 'ConfiguredByOlderAgent'],
      checked.log,
    )
    const streams = await Promise.all([
      pingStream(vm.namespace, a.gateway, a.address),
      pingStream(vm.fabric, a.address),
    ])
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual((await Promise.all(streams.map(stream => stream.stop()))).flat(), [], 'no ping is lost')
    assert.doesNotMatch(ran.log, /rename/)
    assert.doesNotMatch(ran.log, /link down/)
    assert.deepEqual(kernelState(vm)['rules'], [...rulesOfNic(0, [a.cidr]), ...sharedRules].sort())
    assert.match(readFileSync(vm.path('etc/netplan/90-multinic0.yaml'), 'utf8'), /metric: 20000/)
  })

  test('with NetworkManager, its keyfile and .link file are adopted, and its rule is replaced', async () => {
    const keyfiles = '/etc/NetworkManager/system-connections'
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    rmSync(vm.path('etc/netplan'), { recursive: true })
    const theirs = {
      [`${keyfiles}/90-multinic0.nmconnection`]: `[connection]\nid=multinic0\ntype=ethernet\ninterface-name=multinic0\nautoconnect=true\n\n[ethernet]\nmac-address=${a.macAddress}\nmtu=1450\n\n[ipv4]\nmethod=manual\naddress1=${a.address}/24\nroute-table=100\nroute1=${a.cidr},,100\nrouting-rules=priority 10100 from ${a.address}/32 table 100\nnever-default=true\n\n[ipv6]\nmethod=ignore\n`,
      '/etc/systemd/network/90-multinic0.link': `[Match]\nMACAddress=${a.macAddress}\n\n[Link]\nName=multinic0\n`,
    }
    mkdirSync(vm.path(keyfiles), { recursive: true })
    for (const [path, text] of Object.entries(theirs)) writeFileSync(vm.path(path), text, { mode: 0o600 })
    for (const line of [
      'link set ens4 name multinic0',
      'link set multinic0 mtu 1450 up',
      `address add ${a.address}/24 dev multinic0 noprefixroute`,
      `route add ${a.cidr} dev multinic0 table 100 metric 100 src ${a.address}`,
      `rule add from ${a.address}/32 table 100 priority 10100`,
    ])
      vm.ip(...line.split(' '))
    const stream = await pingStream(vm.fabric, a.address)
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(await stream.stop(), [], 'no ping is lost')
    assert.doesNotMatch(ran.log, /rename|link down/)
    assert.deepEqual(kernelState(vm)['rules'], [...rulesOfNic(0, [a.cidr]), ...sharedRules].sort())
    // Exactly one file of each kind: the old keyfile would add a second profile at the next boot.
    assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), [
      `${keyfiles}/multinic0.nmconnection`,
      '/etc/sysctl.d/90-multinic0.conf',
      '/etc/systemd/network/05-multinic0.link',
      '/etc/udev/rules.d/05-multinic0.rules',
    ])
    const again = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Configured', 0], again.log)
  })
})
