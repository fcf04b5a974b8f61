/**
 * Wherever the agent is killed, every NIC ends in its old or its new state, and nothing foreign changes (G1, G6).
 */
import { test } from 'node:test'
import { killAtEveryStep } from '../../../test/rigs/host/kill-at-every-step.ts'
import { requestedInterface } from '../../../test/rigs/host/node.ts'

test('a run that adds or removes two NICs may be killed after every step', { timeout: 10 * 60_000 }, () =>
  killAtEveryStep({
    nics: 2,
    from: () => [],
    to: nics => nics.map((nic, id) => requestedInterface(nic, id, id === 0 ? { addresses: [nic.address6] } : {})),
    minSteps: [50, 50],
  }),
)

test('a run that renames a NIC may be killed after every step, also on a kernel that renames no link that is up', () =>
  killAtEveryStep({
    nics: 1,
    from: nics => nics.map(nic => requestedInterface(nic, 0, { addresses: [nic.address6] })),
    to: nics => nics.map(nic => requestedInterface(nic, 1, { addresses: [nic.address6] })),
    minSteps: [20],
    oldKernel: true,
  }))
