/**
 * `NETWORK_RELOAD=apply` with Netplan's real D-Bus service; only the command that it runs is replaced.
 */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { hasBus, startBus } from '../../../test/rigs/host/dbus.ts'
import { requestedInterface, withNode } from '../../../test/rigs/host/node.ts'

const program = ['/usr/libexec/netplan/netplan-dbus', '/usr/lib/netplan/netplan-dbus'].find(path => existsSync(path))
const skip = !(program && hasBus) && 'needs netplan-dbus and dbus-daemon'

test('netplan apply runs once after the files are in place, and only when something changed', { skip }, () =>
  withNode({ nics: 1 }, async vm => {
    const [a] = vm.nics
    assert.ok(a && program)
    const [command, called] = [vm.path('netplan'), vm.path('called')]
    const count = `ls ${vm.path('etc/netplan')} | grep -c multinic0`
    writeFileSync(command, `#!/bin/sh\necho "$@" with $(${count}) file >> ${called}\n`, { mode: 0o755 })
    const bus = await startBus(vm, {
      services: { 'io.netplan.Netplan': program },
      env: { DBUS_TEST_NETPLAN_CMD: command, DBUS_TEST_NETPLAN_ROOT: vm.root },
    })
    try {
      const interfaces = [requestedInterface(a, 0)]
      for (const changed of [true, false]) {
        const ran = await vm.agent({ interfaces }, { NETWORK_RELOAD: 'apply' })
        assert.equal(ran.report?.verdict, 'Configured', ran.log)
        assert.equal(/netplan apply done/.test(ran.log), changed, ran.log)
      }
      assert.match(readFileSync(called, 'utf8'), /^apply.* with 1 file\n$/)
    } finally {
      await bus.stop()
    }
  }),
)

test('without D-Bus the NIC stays configured, and the log says why netplan apply failed', () =>
  withNode({ nics: 1 }, async vm => {
    const [a] = vm.nics
    assert.ok(a)
    const ran = await vm.agent({ interfaces: [requestedInterface(a, 0)] }, { NETWORK_RELOAD: 'apply' })
    assert.equal(ran.report?.verdict, 'Configured', ran.log)
    assert.match(ran.log, /netplan apply failed.*cannot connect to/)
  }))
