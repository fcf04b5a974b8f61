/**
 * A hot-plugged NIC on arm64. The guest has a device tree: no ACPI and no SMBIOS, so no product_uuid.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hotPlugCase } from './hot-plug.ts'

test('arm64 without UEFI: a hot-plugged NIC is configured, and the same after a reboot', async t => {
  await hotPlugCase(t, { kind: 'arm64' }, async guest => {
    const found = await guest.exec('uname -m; for d in acpi efi; do [ ! -e /sys/firmware/$d ] || echo $d; done')
    assert.equal(found, 'aarch64\n')
  })
})
