/**
 * `NETWORK_RELOAD=apply` with the real service of Netplan on a real bus; only the command that it runs is ours.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { hasBus, startBus } from '../../test/rigs/host/dbus.ts'
import { wish, withNode } from '../../test/rigs/host/node.ts'

const program = ['/usr/libexec/netplan/netplan-dbus', '/usr/lib/netplan/netplan-dbus'].find(path => existsSync(path))
const skip = !(program && hasBus) && 'needs netplan-dbus and dbus-daemon'

test('netplan is asked to apply once the files are there, and only when something changed', { skip }, () =>
  withNode({ nics: 1 }, async vm => {
    const [a] = vm.nics
    assert.ok(a && program)
    const [command, called] = [vm.path('netplan'), vm.path('called')]
    const look = `ls ${vm.path('etc/netplan')} | grep -c multinic0`
    writeFileSync(command, `#!/bin/sh\necho "$@" with $(${look}) file >> ${called}\n`, { mode: 0o755 })
    const bus = await startBus(vm, {
      services: { 'io.netplan.Netplan': program },
      env: { DBUS_TEST_NETPLAN_CMD: command, DBUS_TEST_NETPLAN_ROOT: vm.root },
    })
    try {
      const interfaces = [wish(a, 0)]
      for (const changed of [true, false]) {
        const ran = await vm.agent({ interfaces }, { NETWORK_RELOAD: 'apply' })
        assert.equal(ran.report?.verdict, 'Configured', ran.log)
        assert.equal(/netplan applied its files/.test(ran.log), changed, ran.log)
      }
      assert.match(readFileSync(called, 'utf8'), /^apply.* with 1 file\n$/)
    } finally {
      await bus.stop()
    }
  }),
)

test('a host without the bus keeps its NIC, and the log says why nothing was applied', () =>
  withNode({ nics: 1 }, async vm => {
    const [a] = vm.nics
    assert.ok(a)
    const ran = await vm.agent({ interfaces: [wish(a, 0)] }, { NETWORK_RELOAD: 'apply' })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.match(ran.log, /NETWORK_RELOAD=apply was not done.*nobody listens/)
  }))
