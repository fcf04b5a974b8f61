/**
 * A hot-plugged NIC on other releases of Debian than 12: their kernels, systemd and network managers.
 */
import { test } from 'node:test'
import { hotPlugCase } from './hot-plug.ts'

const kinds = [
  'bullseye-netplan',
  'bullseye-networkmanager',
  'trixie-netplan',
  'trixie-networkmanager',
  'forky-netplan',
  'forky-networkmanager',
] as const

for (const kind of kinds)
  test(`${kind}: a hot-plugged NIC is configured, and the same after a reboot`, async t => {
    await hotPlugCase(t, { kind })
  })
