/**
 * Files of the ifcfg format, read by a real NetworkManager with its ifcfg-rh plugin, as on RHEL 8.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hotPlugCase } from './hot-plug.ts'

const directory = '/etc/sysconfig/network-scripts'

test('ifcfg: a hot-plugged NIC is configured, and the same after a reboot', async t => {
  await hotPlugCase(t, { kind: 'ifcfg' }, async guest => {
    // Debian's NetworkManager does not have the plugin, and would read nothing of these files.
    const profile = await guest.exec(`nmcli -t -f NAME,FILENAME connection | grep :${directory}/`)
    assert.match(profile, /^primary:/m)
  })
})
