/**
 * The agent as a process, on a real kernel: it configures a node, and cleans it up.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import { ipWrapper } from '../../../test/rigs/host/ip-wrapper.ts'
import {
  kernelState,
  macsOf,
  mainRouteOf,
  primaryRoutes,
  routesInTable,
  rulesOfNic,
  sharedRules,
  sharedRules6,
} from '../../../test/rigs/host/kernel-state.ts'
import { diskOf, foreignState, nodeFactory, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'
import type { Backend } from '../../contract/backend.ts'

const node = nodeFactory(after)

/** The tests mostly wait for packets and processes, and each has a node of its own, so they run concurrently. */
suite('agent', { concurrency: 3 }, () => {
  test('two NICs get names, addresses, routes and files, and are verified; a second run changes nothing', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    const before = foreignState(vm, macsOf(vm))
    const interfaces = [requestedInterface(a, 0, { addresses: [a.address6] }), requestedInterface(b, 1)]

    const first = await vm.agent({ interfaces })
    assert.equal(first.code, 0, first.log)
    assert.equal(first.report?.verdict, 'Configured', first.log)
    assert.equal(first.report?.message, 'All 2 interfaces configured successfully')
    assert.deepEqual(
      first.report?.interfaces.map(nic => [nic.name, nic.status, nic.observed?.mtu, nic.observed?.link]),
      [
        ['multinic0', 'Configured', 1450, 'up'],
        ['multinic1', 'Configured', 1450, 'up'],
      ],
    )
    assert.deepEqual(kernelState(vm), {
      links: ['lo up 65536', 'ens3 up 1500', 'multinic0 up 1450', 'multinic1 up 1450'],
      addresses: [
        'ens3 10.0.0.10/24',
        'multinic0 10.100.0.10/24 noprefixroute',
        'multinic0 fd00::10/64 noprefixroute',
        'multinic1 10.101.0.10/24 noprefixroute',
      ],
      main: [
        'default via 10.0.0.1 dev ens3',
        '10.0.0.0/24 dev ens3 proto kernel scope link src 10.0.0.10',
        mainRouteOf(0, a.address, a.cidr),
        mainRouteOf(1, b.address, b.cidr),
        'fd00::/64 dev multinic0 proto static metric 20000 pref medium',
      ],
      rules: [
        ...rulesOfNic(0, [a.cidr, 'fd00::/64']),
        ...rulesOfNic(1, [b.cidr]),
        ...sharedRules,
        ...sharedRules6,
      ].sort(),
    })
    assert.deepEqual(routesInTable(vm, 110), primaryRoutes([a.cidr, b.cidr]))
    assert.deepEqual(routesInTable(vm, 100), [
      'default via 10.100.0.1 dev multinic0 proto static metric 100 onlink',
      '10.100.0.0/24 dev multinic0 proto static scope link src 10.100.0.10 metric 100',
    ])
    assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic'))), [
      '/etc/multinic/multinic.nft',
      ...['routes', 'rules', 'rules6'].map(name => `/etc/multinic/primary-${name}.batch`),
      '/etc/netplan/90-multinic0.yaml',
      '/etc/netplan/91-multinic1.yaml',
      '/etc/sysctl.d/90-multinic0.conf',
      '/etc/sysctl.d/91-multinic1.conf',
      '/etc/systemd/network/05-multinic0.link',
      '/etc/systemd/network/05-multinic0.network',
      '/etc/systemd/network/05-multinic1.link',
      '/etc/systemd/network/05-multinic1.network',
      '/etc/systemd/system/multi-user.target.d/50-multinic.conf',
      ...['nft', 'primary'].map(name => `/etc/systemd/system/multinic-${name}.service`),
      '/etc/systemd/system/nftables.service.d/50-multinic.conf',
      '/etc/systemd/system/sysinit.target.d/50-multinic.conf',
      '/etc/udev/rules.d/05-multinic0.rules',
      '/etc/udev/rules.d/05-multinic1.rules',
    ])
    assert.equal(statSync(vm.path('etc/netplan/90-multinic0.yaml')).mode & 0o7777, 0o600)
    for (const [setting, value] of [
      ['ipv4/conf/multinic0/arp_ignore', '1'],
      ['ipv4/conf/multinic0/arp_announce', '2'],
      ['ipv4/conf/multinic0/rp_filter', '2'],
      ['ipv6/conf/multinic0/accept_ra', '0'],
      ['ipv6/conf/multinic0/autoconf', '0'],
    ] as const)
      assert.equal(vm.exec('cat', `/proc/sys/net/${setting}`).trim(), value, setting)
    assert.equal(foreignState(vm, macsOf(vm)), before)
    assert.deepEqual(readdirSync(vm.path('var/lib/multinic')), ['lock', 'nics', 'node.json'])
    assert.match(vm.ip('link', 'show', `port-${b.macAddress.replaceAll(':', '')}`), /multinic1/)

    vm.exec('ping', '-c1', '-W2', '-I', a.address, a.gateway)
    vm.exec('ping', '-c1', '-W2', b.gateway)

    const disk = () => Object.keys(diskOf(vm)).map(path => `${path} ${statSync(vm.path(path)).mtimeMs}`)
    const [files, state] = [disk(), kernelState(vm)]
    mkdirSync(vm.path('bin'))
    const wrap = (program: string, script: string) =>
      writeFileSync(vm.path(`bin/${program}`), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
    wrap('ip', `echo "$@" >> ${vm.path('commands')}\nexec /sbin/ip "$@"`)
    wrap('nft', `tee -a ${vm.path('scripts')} | /usr/sbin/nft "$@"`)
    const second = await vm.agent({ interfaces }, { PATH: `${vm.path('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` })
    assert.equal(second.report?.verdict, 'Configured', second.log)
    assert.equal(second.report?.changed, 0, second.log)
    // The agent observed the node and ran no other command.
    assert.deepEqual(readFileSync(vm.path('commands'), 'utf8').split('\n'), [
      '-N -j -d -force -batch -',
      '-6 -N -j -d -force -batch -',
      '',
    ])
    const scripts = ['list tables', 'list table ip multinic', 'list table ip6 multinic']
    assert.deepEqual(readFileSync(vm.path('scripts'), 'utf8').split('\n').filter(Boolean), scripts)
    assert.deepEqual(disk(), files)
    assert.deepEqual(kernelState(vm), state)
  })

  test('MTU, address, gateway and index can change; nothing of the old configuration stays', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    const moved = requestedInterface(a, 3, {
      name: 'multinic3',
      address: '10.100.0.77',
      mtu: 1400,
      gateway: '10.100.0.254',
    })
    const ran = await vm.agent({ interfaces: [moved] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernelState(vm), {
      links: ['lo up 65536', 'ens3 up 1500', 'multinic3 up 1400'],
      addresses: ['ens3 10.0.0.10/24', 'multinic3 10.100.0.77/24 noprefixroute'],
      main: [
        'default via 10.0.0.1 dev ens3',
        '10.0.0.0/24 dev ens3 proto kernel scope link src 10.0.0.10',
        mainRouteOf(3, '10.100.0.77', a.cidr),
      ],
      // The mark stays that of the first index.
      rules: [...rulesOfNic(3, [a.cidr], 0), ...sharedRules].sort(),
    })
    assert.deepEqual(routesInTable(vm, 100), [])
    assert.equal(routesInTable(vm, 103)[0], 'default via 10.100.0.254 dev multinic3 proto static metric 103 onlink')
    assert.deepEqual(Object.keys(diskOf(vm, path => /netplan\/9/.test(path))), ['/etc/netplan/93-multinic3.yaml'])
  })

  test('a NIC that is no longer requested gets its former name and state back; cleanup removes the rest', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    const untouched = { ...kernelState(vm), files: diskOf(vm) }
    await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] })
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(ran.report?.removed.slice(0, 1), ['multinic1'])
    assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'multinic0 up 1450', 'ens5 down 1500'])
    assert.deepEqual(routesInTable(vm, 101), [])
    assert.match(ran.log, /CleanupOrphanedConfigs.*orphaned/)

    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    const { '/etc/netplan/50-cloud-init.yaml': _, ...left } = diskOf(vm)
    assert.ok(
      Object.keys(left).every(path => path.startsWith('/etc/netplan/backup/')),
      Object.keys(left).join(),
    )
    assert.ok(Object.keys(left).some(path => path.startsWith('/etc/netplan/backup/90-multinic0.yaml.')))
    assert.deepEqual({ ...kernelState(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
    assert.equal(vm.exec('cat', '/proc/sys/net/ipv6/conf/ens4/accept_ra').trim(), '1')

    const again = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Removed', 0])
  })

  test('the report counts the changes of each NIC', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] })
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1, { mtu: 1400 })] })
    const [first, second] = ran.report?.interfaces.map(({ changed = -1 }) => changed) ?? []
    assert.deepEqual([first, second], [0, ran.report?.changed], ran.log)
  })

  test('files and rules of a detached NIC are removed', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] })
    vm.unplug(1)
    await eventually(() => assert.equal(kernelState(vm)['links']?.length, 3))
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernelState(vm)['rules'], [...rulesOfNic(0, [a.cidr]), ...sharedRules].sort())
    assert.deepEqual(routesInTable(vm, 110), primaryRoutes([a.cidr]))
    assert.deepEqual(Object.keys(diskOf(vm, path => /9\d-/.test(path) && !path.includes('backup'))), [
      '/etc/netplan/90-multinic0.yaml',
      '/etc/sysctl.d/90-multinic0.conf',
    ])
  })

  test('a NIC in the same subnet takes over the index of a detached one', async () => {
    const vm = await node({ nics: 2, oneSubnet: true })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [requestedInterface(a, 0)] })
    vm.unplug(0)
    await eventually(() => assert.equal(kernelState(vm)['links']?.length, 3))
    const ran = await vm.agent({ interfaces: [requestedInterface(b, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernelState(vm)['rules'], [...rulesOfNic(0, [b.cidr]), ...sharedRules].sort())
  })

  test('the agent configures the NICs that are present and waits for a late one', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const late = {
      ...requestedInterface(a, 1),
      macAddress: 'fa:16:3e:00:00:02',
      portId: 'late',
      address: '10.101.0.10',
      cidr: '10.101.0.0/24',
      gateway: '10.101.0.1',
    }
    const missing = await vm.agent({ interfaces: [requestedInterface(a, 0), late] })
    assert.equal(missing.report?.verdict, 'Pending', missing.log)
    assert.deepEqual(
      missing.report?.interfaces.map(nic => [nic.status, nic.reason]),
      [
        ['Configured', 'Configured'],
        ['Pending', 'NicMissing'],
      ],
    )
    const waiting = vm.start({ interfaces: [requestedInterface(a, 0), late] }, { NIC_WAIT: '100s' })
    await eventually(() => assert.match(waiting.log(), /waiting for NICs/), { within: 60_000 })
    vm.plug()
    const ran = await waiting.done
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.ok((ran.report?.timings['total'] ?? Number.NaN) < 100_000, 'the agent must not wait longer than necessary')
    assert.ok(kernelState(vm)['links']?.includes('multinic1 up 1450'))
  })

  test('a fresh NIC whose default route vanishes right after it was set gets it in a second round', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const env = ipWrapper(
      vm,
      `case "$lines" in *" name multinic0"*) echo "$lines" | $real "$@"; code=$?; $real route del default table 100; exit $code ;; esac`,
    )
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] }, env)
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.equal(routesInTable(vm, 100).length, 2)
  })

  test('two NICs exchange their indexes', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] })
    const ran = await vm.agent({ interfaces: [requestedInterface(b, 0), requestedInterface(a, 1)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernelState(vm)['addresses'], [
      'ens3 10.0.0.10/24',
      'multinic1 10.100.0.10/24 noprefixroute',
      'multinic0 10.101.0.10/24 noprefixroute',
    ])
    assert.deepEqual(
      kernelState(vm)['rules'],
      [...rulesOfNic(0, [b.cidr], 1), ...rulesOfNic(1, [a.cidr], 0), ...sharedRules].sort(),
    )
    const again = await vm.agent({ interfaces: [requestedInterface(b, 0), requestedInterface(a, 1)] })
    assert.equal(again.report?.changed, 0, again.log)
    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    assert.deepEqual(kernelState(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'ens5 down 1500'])
  })

  test('an address that DHCP configured first is adopted; a NIC with a static default route is refused', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    for (const line of [
      'link set ens4 up',
      `address add ${a.address}/24 dev ens4 valid_lft 86400 preferred_lft 86400`,
      'link set ens5 up',
      `address add ${b.address}/24 dev ens5 valid_lft 86400 preferred_lft 86400`,
      `route add default via ${b.gateway} dev ens5 metric 200`,
    ])
      vm.ip(...line.split(' '))
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0), requestedInterface(b, 1)] })
    assert.deepEqual(
      ran.report?.interfaces.map(nic => [nic.status, nic.reason, nic.message]),
      [
        ['Configured', 'Configured', 'taken over from DHCP or router advertisements: address 10.100.0.10/24'],
        ['Failed', 'CarriesDefaultRoute', `ens5 carries a default route via ${b.gateway}`],
      ],
      ran.log,
    )
    const { links, addresses, main } = kernelState(vm)
    assert.deepEqual(links?.slice(2), ['multinic0 up 1450', 'ens5 up 1500'])
    assert.deepEqual(addresses?.slice(1), ['multinic0 10.100.0.10/24', 'ens5 10.101.0.10/24'])
    assert.match(vm.ip('address', 'show', 'multinic0'), /10\.100\.0\.10\/24 .*\n +valid_lft forever/)
    assert.deepEqual(
      main?.filter(route => route.includes('10.10')),
      [
        'default via 10.101.0.1 dev ens5 metric 200',
        mainRouteOf(0, a.address, a.cidr),
        mainRouteOf(0, a.address, a.cidr).replace('static', 'kernel'),
        '10.101.0.0/24 dev ens5 proto kernel scope link src 10.101.0.10',
      ],
    )
  })

  test('a run that gets SIGTERM while applying completes the changes', async () => {
    const vm = await node({ nics: 1 })
    const a = vm.nics[0] ?? assert.fail('no NIC')
    // Probing a gateway that does not reply keeps the run between journal and commit.
    vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
    const run = vm.start({ interfaces: [requestedInterface(a, 0)] }, { NETWORK_PROBE_TIMEOUT: '2s' })
    await eventually(() => assert.ok(existsSync(vm.path('var/lib/multinic/journal/0001.json'))), {
      within: 60_000,
      every: 1,
    })
    process.kill(run.pid, 'SIGTERM')
    const ran = await run.done
    assert.deepEqual([ran.code, ran.report?.verdict], [0, 'Configured'], ran.log)
    assert.ok(kernelState(vm)['links']?.includes('multinic0 up 1450'))
    assert.deepEqual(readdirSync(vm.path('var/lib/multinic')), ['lock', 'nics', 'node.json'])
  })

  const families = {
    networkmanager: ['/etc/NetworkManager/system-connections', '/var/lib/multinic/backup', ['multinic0.nmconnection']],
    ifcfg: [
      '/etc/sysconfig/network-scripts',
      '/etc/sysconfig/network-scripts/backup',
      ['ifcfg-multinic0', 'route-multinic0', 'route6-multinic0', 'rule-multinic0', 'rule6-multinic0'],
    ],
  } as const satisfies Record<Exclude<Backend, 'netplan'>, readonly [string, string, readonly string[]]>
  for (const [backend, [directory, backup, names]] of Object.entries(families))
    test(`cleanup on a host with ${backend} removes all files, keeps backups and reports each file`, async () => {
      const vm = await node({ nics: 1, files: { [`${directory}/ifcfg-ens3`]: 'DEVICE=ens3\n' } })
      const [a] = vm.nics
      assert.ok(a)
      rmSync(vm.path('etc/netplan'), { recursive: true })
      const untouched = { ...kernelState(vm), files: diskOf(vm) }
      const quick = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false' }
      const ran = await vm.agent({ interfaces: [requestedInterface(a, 0, { addresses: [a.address6] })] }, quick)
      assert.deepEqual([ran.report?.verdict, ran.report?.backend?.kind], ['Configured', backend], ran.log)
      const ours = [
        ...names.map(name => `${directory}/${name}`),
        ...['/etc/sysctl.d/90-multinic0.conf', '/etc/systemd/network/05-multinic0.link'],
        '/etc/udev/rules.d/05-multinic0.rules',
      ]
      assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), ours.toSorted())

      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] }, quick)
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      assert.deepEqual(clean.report?.removed.toSorted(), ['multinic0', ...ours.map(path => vm.path(path))].toSorted())
      assert.deepEqual({ ...kernelState(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
      const copies = readdirSync(vm.path(backup)).map(name => name.replace(/\.\d{8}T\d{6}Z$/, ''))
      for (const name of names) assert.ok(copies.includes(name), copies.join())
    })
})
