/**
 * The same as in `killed.root.test.ts` where it takes longer: ten NICs, and NICs that take over each other's numbers.
 */
import { test } from 'node:test'
import { andBack, killEverywhere } from '../../test/rigs/host/killed.ts'
import { wish } from '../../test/rigs/host/node.ts'

const parts = 6
const [come, go] = andBack({
  nics: 10,
  from: () => [],
  to: nics => nics.map((nic, id) => wish(nic, id)),
  steps: 200,
})

for (let part = 0; part < parts; part++) {
  const share = { part, of: parts }
  test(`ten NICs that come may be killed after every single step, part ${part + 1} of ${parts}`, () =>
    killEverywhere({ ...come, share }))
  test(`ten NICs that go may be killed after every single step, part ${part + 1} of ${parts}`, () =>
    killEverywhere({ ...go, share }))
}

const [over, overBack] = andBack({
  nics: 2,
  from: ([a]) => (a ? [wish(a, 0)] : []),
  to: ([, b]) => (b ? [wish(b, 0, { mtu: 1400 })] : []),
  steps: 40,
})
test('a NIC that takes over the number of one that goes may be killed after every single step', async () => {
  await killEverywhere(over)
  await killEverywhere(overBack)
})

const [trade] = andBack({
  nics: 2,
  from: nics => nics.map((nic, id) => wish(nic, id)),
  to: nics => nics.map((nic, id) => wish(nic, 1 - id)),
  steps: 30,
})
test('two NICs that trade their numbers may be killed after every single step', () => killEverywhere(trade))
