/**
 * A hot-plugged NIC on the guests on which most cases run.
 */
import { test } from 'node:test'
import { guestKinds } from '../rigs/vm/rig.ts'
import { hotPlugCase } from './hot-plug.ts'

for (const kind of guestKinds)
  test(`${kind}: a hot-plugged NIC is configured, and the same after a reboot`, async t => {
    await hotPlugCase(t, { kind })
  })
