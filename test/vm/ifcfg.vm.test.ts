/**
 * Files of the ifcfg format, read by a real NetworkManager with its ifcfg-rh plugin, as on RHEL 8.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Guest, sameState, startGuest, stateOf } from '../rigs/vm/rig.ts'
import { hotPlugCase, networks, nic, requested } from './hot-plug.ts'

const directory = '/etc/sysconfig/network-scripts'
const interrupted = /previous run did not finish/

test('ifcfg: a hot-plugged NIC is configured, and the same after a reboot', async t => {
  await hotPlugCase(t, { kind: 'ifcfg' }, async guest => {
    // Debian's NetworkManager does not have the plugin, and would read nothing of these files.
    const profile = await guest.exec(`nmcli -t -f NAME,FILENAME connection | grep :${directory}/`)
    assert.match(profile, /^primary:/m)
  })
})

test('ifcfg: an apply and a cleanup that are killed are completed, and a reboot changes nothing', async t => {
  const guest = await startGuest(t, { kind: 'ifcfg', networks, nics: [nic] })
  const bare = await stateOf(guest)
  const link = '/sys/class/net/multinic0'

  // The kernel of this guest renames only links that are down: that of a killed agent is down for the next run.
  const [applied] = await Promise.all([guest.agent('apply', [requested]), killWhen(guest, `[ -e ${link} ]`)])
  assert.equal(applied.report?.verdict, 'Configured', applied.log)
  assert.match(applied.log, interrupted)
  const configured = await stateOf(guest)
  await guest.reboot()
  await sameState(guest, configured)
  const checked = await guest.agent('check', [requested])
  assert.equal(checked.report?.verdict, 'InSync', checked.log)

  const [cleaned] = await Promise.all([guest.agent('cleanup', []), killWhen(guest, `[ ! -e ${link} ]`)])
  assert.equal(cleaned.report?.verdict, 'Removed', cleaned.log)
  assert.match(cleaned.log, interrupted)
  await sameState(guest, bare)
  assert.doesNotMatch(await guest.exec('nmcli -t -f NAME connection'), /multinic/)
  await guest.reboot()
  await sameState(guest, bare)
})

/** Kills the agent once, as soon as the condition holds. Its Job starts it again. */
async function killWhen(guest: Guest, condition: string): Promise<void> {
  await guest.exec(`
until id=$(runc list -q) && [ -n "$id" ]; do sleep 0.1; done
pid=$(runc state "$id" | sed -n 's/.*"pid": \\([0-9]*\\).*/\\1/p')
until ${condition}; do sleep 0.01; done
kill -KILL "$pid"`)
}
