/**
 * The slow cases of `killed.root.test.ts`: ten NICs, and NICs that take over each other's index.
 */
import { test } from 'node:test'
import { killAtEveryStep } from '../../test/rigs/host/kill-at-every-step.ts'
import { requestedInterface } from '../../test/rigs/host/node.ts'

test('a run that adds or removes ten NICs may be killed after every step', { timeout: 20 * 60_000 }, () =>
  killAtEveryStep({
    nics: 10,
    from: () => [],
    to: nics => nics.map((nic, id) => requestedInterface(nic, id)),
    minSteps: [200, 200],
  }),
)

test('a run in which a NIC takes over the index of a removed one may be killed after every step', () =>
  killAtEveryStep({
    nics: 2,
    from: ([a]) => (a ? [requestedInterface(a, 0)] : []),
    to: ([, b]) => (b ? [requestedInterface(b, 0, { mtu: 1400 })] : []),
    minSteps: [40, 40],
  }))

test('a run in which two NICs exchange their indexes may be killed after every step', () =>
  killAtEveryStep({
    nics: 2,
    from: nics => nics.map((nic, id) => requestedInterface(nic, id)),
    to: nics => nics.map((nic, id) => requestedInterface(nic, 1 - id)),
    minSteps: [30],
  }))
