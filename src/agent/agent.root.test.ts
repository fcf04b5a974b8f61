/**
 * The agent as a process, on a real kernel: what it makes of a node, and that it takes it back.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kernel, macsOf, table } from '../../test/rigs/host/kernel-state.ts'
import { diskOf, foreignState, nodesUntil, wish } from '../../test/rigs/host/node.ts'
import { eventually } from '../../test/support/eventually.ts'

const node = nodesUntil(after)

/** They mostly wait for the wire and for processes: each has its own node, and they need not wait for each other. */
suite('a node', { concurrency: 3 }, () => {
  test('two NICs are named, addressed, routed, verified and written down; a second run changes nothing', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    const before = foreignState(vm, macsOf(vm))
    const interfaces = [wish(a, 0, { addresses: [a.address6] }), wish(b, 1)]

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
    assert.deepEqual(kernel(vm), {
      links: ['lo up 65536', 'ens3 up 1500', 'multinic0 up 1450', 'multinic1 up 1450'],
      addresses: [
        'ens3 10.0.0.10/24',
        'multinic0 10.100.0.10/24 noprefixroute',
        'multinic0 fd00::10/64 noprefixroute',
        'multinic1 10.101.0.10/24 noprefixroute',
      ],
      main: ['default via 10.0.0.1 dev ens3', '10.0.0.0/24 dev ens3 proto kernel scope link src 10.0.0.10'],
      rules: [
        '10100: from 10.100.0.10 lookup 100 proto static',
        '10100: from all to 10.100.0.0/24 lookup 100 proto static',
        '10101: from 10.101.0.10 lookup 101 proto static',
        '10101: from all to 10.101.0.0/24 lookup 101 proto static',
        '10100: from fd00::10 lookup 100 proto static',
        '10100: from all to fd00::/64 lookup 100 proto static',
      ],
    })
    assert.deepEqual(table(vm, 100), [
      'default via 10.100.0.1 dev multinic0 proto static metric 100',
      '10.100.0.0/24 dev multinic0 proto static scope link src 10.100.0.10 metric 100',
    ])
    assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic'))), [
      '/etc/netplan/90-multinic0.yaml',
      '/etc/netplan/91-multinic1.yaml',
      '/etc/sysctl.d/90-multinic0.conf',
      '/etc/sysctl.d/91-multinic1.conf',
      '/etc/systemd/network/05-multinic0.link',
      '/etc/systemd/network/05-multinic0.network',
      '/etc/systemd/network/05-multinic1.link',
      '/etc/systemd/network/05-multinic1.network',
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
    assert.deepEqual(readdirSync(vm.path('var/lib/multinic')), ['nics'])
    assert.match(vm.ip('link', 'show', `port-${b.mac.replaceAll(':', '')}`), /multinic1/)

    // From the NIC's address its own gateway answers; without one the rule `to` leads there.
    vm.exec('ping', '-c1', '-W2', '-I', a.address, a.gateway)
    vm.exec('ping', '-c1', '-W2', b.gateway)

    const disk = () => Object.keys(diskOf(vm)).map(path => `${path} ${statSync(vm.path(path)).mtimeMs}`)
    const [files, state] = [disk(), kernel(vm)]
    mkdirSync(vm.path('bin'))
    writeFileSync(vm.path('bin/ip'), `#!/bin/sh\necho "$@" >> ${vm.path('asked')}\nexec /sbin/ip "$@"\n`, {
      mode: 0o755,
    })
    const second = await vm.agent({ interfaces }, { PATH: `${vm.path('bin')}:/usr/sbin:/usr/bin:/sbin:/bin` })
    assert.equal(second.report?.verdict, 'Configured', second.log)
    assert.equal(second.report?.changed, 0, second.log)
    // It looked, and that was all.
    assert.deepEqual(readFileSync(vm.path('asked'), 'utf8').split('\n'), [
      '-N -j -d -force -batch -',
      '-6 -N -j -d -force -batch -',
      '',
    ])
    assert.deepEqual(disk(), files)
    assert.deepEqual(kernel(vm), state)
  })

  test('MTU, address, gateway and number can change; what was there before does not stay', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    await vm.agent({ interfaces: [wish(a, 0)] })
    const moved = wish(a, 3, { name: 'multinic3', address: '10.100.0.77', mtu: 1400, gateway: '10.100.0.254' })
    const ran = await vm.agent({ interfaces: [moved] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernel(vm), {
      links: ['lo up 65536', 'ens3 up 1500', 'multinic3 up 1400'],
      addresses: ['ens3 10.0.0.10/24', 'multinic3 10.100.0.77/24 noprefixroute'],
      main: ['default via 10.0.0.1 dev ens3', '10.0.0.0/24 dev ens3 proto kernel scope link src 10.0.0.10'],
      rules: [
        '10103: from 10.100.0.77 lookup 103 proto static',
        '10103: from all to 10.100.0.0/24 lookup 103 proto static',
      ],
    })
    assert.deepEqual(table(vm, 100), [])
    assert.equal(table(vm, 103)[0], 'default via 10.100.0.254 dev multinic3 proto static metric 103')
    assert.deepEqual(Object.keys(diskOf(vm, path => /netplan\/9/.test(path))), ['/etc/netplan/93-multinic3.yaml'])
  })

  test('a NIC that is no longer wanted gets its former name and state back; cleanup takes the rest', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    const untouched = { ...kernel(vm), files: diskOf(vm) }
    await vm.agent({ interfaces: [wish(a, 0), wish(b, 1)] })
    const ran = await vm.agent({ interfaces: [wish(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(ran.report?.removed.slice(0, 1), ['multinic1'])
    assert.deepEqual(kernel(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'multinic0 up 1450', 'ens5 down 1500'])
    assert.deepEqual(table(vm, 101), [])
    assert.match(ran.log, /CleanupOrphanedConfigs.*orphaned/)

    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    const { '/etc/netplan/50-cloud-init.yaml': _, ...left } = diskOf(vm)
    assert.ok(
      Object.keys(left).every(path => path.startsWith('/etc/netplan/backup/')),
      Object.keys(left).join(),
    )
    assert.ok(Object.keys(left).some(path => path.startsWith('/etc/netplan/backup/90-multinic0.yaml.')))
    assert.deepEqual({ ...kernel(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
    assert.equal(vm.exec('cat', '/proc/sys/net/ipv6/conf/ens4/accept_ra').trim(), '1')

    const again = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.deepEqual([again.report?.verdict, again.report?.changed], ['Removed', 0])
  })

  test('a NIC that was unplugged loses its files and rules', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [wish(a, 0), wish(b, 1)] })
    vm.unplug(1)
    await eventually(() => assert.equal(kernel(vm)['links']?.length, 3))
    const ran = await vm.agent({ interfaces: [wish(a, 0)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.ok(kernel(vm)['rules']?.every(rule => rule.startsWith('10100:')))
    assert.deepEqual(Object.keys(diskOf(vm, path => /9\d-/.test(path) && !path.includes('backup'))), [
      '/etc/netplan/90-multinic0.yaml',
      '/etc/sysctl.d/90-multinic0.conf',
    ])
  })

  test('a NIC that is late is waited for, while the others are done', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    const late = {
      ...wish(a, 1),
      macAddress: 'fa:16:3e:00:00:02',
      portId: 'late',
      address: '10.101.0.10',
      cidr: '10.101.0.0/24',
      gateway: '10.101.0.1',
    }
    const missing = await vm.agent({ interfaces: [wish(a, 0), late] })
    assert.equal(missing.report?.verdict, 'Pending', missing.log)
    assert.deepEqual(
      missing.report?.interfaces.map(nic => [nic.status, nic.reason]),
      [
        ['Configured', 'Configured'],
        ['Pending', 'NicMissing'],
      ],
    )
    const waiting = vm.start({ interfaces: [wish(a, 0), late] }, { NIC_WAIT: '100s' })
    await eventually(() => assert.match(waiting.log(), /waiting for NICs/), { within: 60_000 })
    vm.plug()
    const ran = await waiting.done
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.ok((ran.report?.timings['total'] ?? Number.NaN) < 100_000, 'it came, and was waited for no longer')
    assert.ok(kernel(vm)['links']?.includes('multinic1 up 1450'))
  })

  test('two NICs trade their numbers', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    await vm.agent({ interfaces: [wish(a, 0), wish(b, 1)] })
    const ran = await vm.agent({ interfaces: [wish(b, 0), wish(a, 1)] })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.deepEqual(kernel(vm)['addresses'], [
      'ens3 10.0.0.10/24',
      'multinic1 10.100.0.10/24 noprefixroute',
      'multinic0 10.101.0.10/24 noprefixroute',
    ])
    assert.deepEqual(kernel(vm)['rules'], [
      '10100: from 10.101.0.10 lookup 100 proto static',
      '10100: from all to 10.101.0.0/24 lookup 100 proto static',
      '10101: from 10.100.0.10 lookup 101 proto static',
      '10101: from all to 10.100.0.0/24 lookup 101 proto static',
    ])
    const again = await vm.agent({ interfaces: [wish(b, 0), wish(a, 1)] })
    assert.equal(again.report?.changed, 0, again.log)
    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    assert.deepEqual(kernel(vm)['links'], ['lo up 65536', 'ens3 up 1500', 'ens4 down 1500', 'ens5 down 1500'])
  })

  test('an address that somebody gave a NIC first is adopted; a default route that came with one is refused', async () => {
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
    const ran = await vm.agent({ interfaces: [wish(a, 0), wish(b, 1)] })
    assert.deepEqual(
      ran.report?.interfaces.map(nic => [nic.status, nic.reason, nic.message]),
      [
        ['Configured', 'Configured', undefined],
        ['Failed', 'DefaultRoute', `ens5 carries a default route via ${b.gateway}`],
      ],
      ran.log,
    )
    const { links, addresses, main } = kernel(vm)
    assert.deepEqual(links?.slice(2), ['multinic0 up 1450', 'ens5 up 1500'])
    assert.deepEqual(addresses?.slice(1), ['multinic0 10.100.0.10/24 noprefixroute', 'ens5 10.101.0.10/24'])
    assert.match(vm.ip('address', 'show', 'multinic0'), /10\.100\.0\.10\/24 .*\n +valid_lft forever/)
    assert.deepEqual(
      main?.filter(route => route.includes('10.10')),
      ['default via 10.101.0.1 dev ens5 metric 200', '10.101.0.0/24 dev ens5 proto kernel scope link src 10.101.0.10'],
    )
  })

  test('a run that is asked to end in the middle completes what it began', async () => {
    const vm = await node({ nics: 1 })
    const [a] = vm.nics
    assert.ok(a)
    // A router that is asked in vain keeps it in the middle for a while.
    vm.fabricIp('address', 'del', `${a.gateway}/24`, 'dev', 'br1')
    const run = vm.start({ interfaces: [wish(a, 0)] }, { NETWORK_PROBE_TIMEOUT: '2s' })
    await eventually(() => assert.ok(existsSync(vm.path('var/lib/multinic/journal/0001.json'))), {
      within: 60_000,
      every: 1,
    })
    process.kill(run.pid, 'SIGTERM')
    const ran = await run.done
    assert.deepEqual([ran.code, ran.report?.verdict], [0, 'Configured'], ran.log)
    assert.ok(kernel(vm)['links']?.includes('multinic0 up 1450'))
    assert.deepEqual(readdirSync(vm.path('var/lib/multinic')), ['nics'])
  })

  const families = {
    networkmanager: ['/etc/NetworkManager/system-connections', '/var/lib/multinic/backup', ['multinic0.nmconnection']],
    ifcfg: [
      '/etc/sysconfig/network-scripts',
      '/etc/sysconfig/network-scripts/backup',
      ['ifcfg-multinic0', 'route-multinic0', 'route6-multinic0', 'rule-multinic0', 'rule6-multinic0'],
    ],
  } as const
  for (const [backend, [directory, backup, names]] of Object.entries(families))
    test(`cleanup takes all files of a host with ${backend} away, keeps copies, and tells of each`, async () => {
      const vm = await node({ nics: 1, files: { [`${directory}/ifcfg-ens3`]: 'DEVICE=ens3\n' } })
      const [a] = vm.nics
      assert.ok(a)
      rmSync(vm.path('etc/netplan'), { recursive: true })
      const untouched = { ...kernel(vm), files: diskOf(vm) }
      const quick = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false' }
      const ran = await vm.agent({ interfaces: [wish(a, 0, { addresses: [a.address6] })] }, quick)
      assert.deepEqual([ran.report?.verdict, ran.report?.backend?.kind], ['Configured', backend], ran.log)
      const ours = [
        ...names.map(name => `${directory}/${name}`),
        ...['/etc/sysctl.d/90-multinic0.conf', '/etc/systemd/network/05-multinic0.link'],
      ]
      assert.deepEqual(Object.keys(diskOf(vm, path => path.includes('multinic0'))), ours.toSorted())

      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] }, quick)
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      assert.deepEqual(clean.report?.removed.toSorted(), ['multinic0', ...ours.map(path => vm.path(path))].toSorted())
      assert.deepEqual({ ...kernel(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
      const copies = readdirSync(vm.path(backup)).map(name => name.replace(/\.\d{8}T\d{6}Z$/, ''))
      for (const name of names) assert.ok(copies.includes(name), copies.join())
    })

  test('a run that is killed between journal and commit is taken back by the next one, which then goes on', async () => {
    const vm = await node({ nics: 2 })
    const [a, b] = vm.nics
    assert.ok(a && b)
    const untouched = { ...kernel(vm), files: diskOf(vm) }
    const interfaces = [wish(a, 0), wish(b, 1)]
    const journal = vm.path('var/lib/multinic/journal')
    const entries = () => (existsSync(journal) ? readdirSync(journal) : [])
    let hit = 0
    for (let attempt = 0; attempt < 40 && hit < 3; attempt++) {
      const run = vm.start({ interfaces })
      await eventually(() => assert.ok(entries().length > 0), { within: 60_000, every: 0 })
      await sleep(attempt % 8)
      process.kill(run.pid, 'SIGKILL')
      await run.done
      if (entries().some(name => /^\d+\.json$/.test(name))) hit++
      const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
      assert.equal(clean.report?.verdict, 'Removed', clean.log)
      assert.deepEqual({ ...kernel(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
    }
    assert.ok(hit > 0, 'no run was killed in the middle')
    const ran = await vm.agent({ interfaces })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
  })
})
