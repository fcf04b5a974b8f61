/**
 * Killed at any step, every NIC ends in its old good state or in its new one, and nothing foreign is touched (G1, G6).
 */
import { test } from 'node:test'
import { andBack, killEverywhere } from '../../test/rigs/host/killed.ts'
import { wish } from '../../test/rigs/host/node.ts'

const [come, go] = andBack({
  nics: 2,
  from: () => [],
  to: nics => nics.map((nic, id) => wish(nic, id, id === 0 ? { addresses: [nic.address6] } : {})),
  steps: 50,
})

for (const part of [0, 1]) {
  const share = { part, of: 2 }
  test(`two NICs that come may be killed after every single step, half ${part + 1}`, () =>
    killEverywhere({ ...come, share }))
  test(`two NICs that go may be killed after every single step, half ${part + 1}`, () =>
    killEverywhere({ ...go, share }))
}
