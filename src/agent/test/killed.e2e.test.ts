/**
 * The slow cases of `killed.root.test.ts`: ten NICs, NICs that take over each other's index, and hosts with NetworkManager,
 * where every D-Bus call that changes something is a step too.
 */
import { test } from 'node:test'
import { killAtEveryStep } from '../../../test/rigs/host/kill-at-every-step.ts'
import { hasNetworkManager } from '../../../test/rigs/host/network-manager.ts'
import { requestedInterface } from '../../../test/rigs/host/node.ts'

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

const onNetworkManager = { timeout: 20 * 60_000, skip: !hasNetworkManager && 'NetworkManager is not installed' }

test(
  'beside NetworkManager, a run that adds or removes two NICs may be killed after every step',
  onNetworkManager,
  () =>
    killAtEveryStep({
      nics: 2,
      from: () => [],
      to: nics => nics.map((nic, id) => requestedInterface(nic, id, id === 0 ? { addresses: [nic.address6] } : {})),
      minSteps: [50, 50],
      networkManager: true,
    }),
)

test(
  'a run that removes a NIC on which NetworkManager has activated our profile may be killed after every step',
  onNetworkManager,
  () =>
    killAtEveryStep({
      nics: 1,
      from: nics => nics.map((nic, id) => requestedInterface(nic, id, { addresses: [nic.address6] })),
      to: () => [],
      minSteps: [30],
      networkManager: true,
      booted: true,
    }),
)

test(
  'beside NetworkManager, a run that adds or removes ten NICs may be killed after every kind of step',
  onNetworkManager,
  () =>
    killAtEveryStep({
      nics: 10,
      from: () => [],
      to: nics => nics.map((nic, id) => requestedInterface(nic, id)),
      minSteps: [200, 200],
      networkManager: true,
      sampled: true,
    }),
)
