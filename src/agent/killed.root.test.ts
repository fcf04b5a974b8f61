/**
 * Killed at any step, every NIC ends in its old good state or in its new one, and nothing foreign is touched (G1, G6).
 */
import { test } from 'node:test'
import { killEverywhere } from '../../test/rigs/host/kill-at-every-step.ts'
import { wish } from '../../test/rigs/host/node.ts'

test('two NICs that come, and go, may be killed after every single step', { timeout: 280_000 }, () =>
  killEverywhere({
    nics: 2,
    from: () => [],
    to: nics => nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {})),
    steps: [50, 50],
  }),
)
