/**
 * The same as in `killed.root.test.ts` where it takes longer: ten NICs, and NICs that take over each other's numbers.
 */
import { test } from 'node:test'
import { killEverywhere } from '../../test/rigs/host/kill-at-every-step.ts'
import { wish } from '../../test/rigs/host/node.ts'

test('ten NICs that come, and go, may be killed after every single step', { timeout: 20 * 60_000 }, () =>
  killEverywhere({
    nics: 10,
    from: () => [],
    to: nics => nics.map((nic, id) => wish(nic, id)),
    steps: [200, 200],
  }),
)

test('a NIC that takes over the number of one that goes may be killed after every single step', () =>
  killEverywhere({
    nics: 2,
    from: ([a]) => (a ? [wish(a, 0)] : []),
    to: ([, b]) => (b ? [wish(b, 0, { mtu: 1400 })] : []),
    steps: [40, 40],
  }))

test('two NICs that trade their numbers may be killed after every single step', () =>
  killEverywhere({
    nics: 2,
    from: nics => nics.map((nic, id) => wish(nic, id)),
    to: nics => nics.map((nic, id) => wish(nic, 1 - id)),
    steps: [30],
  }))
