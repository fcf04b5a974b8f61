/** When a delivered interface stays, is checked again, is removed, or is removed only after approval. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Observed } from './observed-state.ts'
import { aNic, aNode, aPort, backup, detached, observed, one, planNodes, planText, vm1, vm2 } from './plan.fixture.ts'

const five = aNode([1, 2, 3, 4, 5].map((n, index) => aNic(n, index)))
const removal = (n: number) => `worker-1 multinic${n - 1} (port port-${n})`
const onHold = (n: number) => `hold ${removal(n)}`

/** vm-1 was delivered by the name worker-1, which now means vm-9. */
const reused: Partial<Observed> = {
  vms: [{ entry: 'worker-1', id: 'vm-9', state: 'found', name: 'worker-1' }],
  resolvedNames: { 'worker-1': 'vm-1' },
  delivered: [one],
  deletedVms: new Map([['vm-1', false]]),
}

const cases: Record<string, [given: Partial<Observed>, expected: string[]]> = {
  'a delivered port that is BUILD, old and without owner stays': [
    { ports: [aPort(1, { status: 'BUILD', createdAt: '2001-01-01T00:00:00Z', owner: '' })], delivered: [one] },
    [],
  ],
  'a port that is missing from the list is only checked': [{ delivered: [one] }, ['check port-1 of vm-1']],
  'a port that the cloud confirms as detached is removed, and the node with the last one': [
    { delivered: [one], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'a port that Nova still lists stays': [{ delivered: [one], portChecks: new Map([['port-1', 'attached']]) }, []],
  'a port that is on another VM now is first checked on the old one': [
    { vms: [vm1, vm2], ports: [aPort(1, { serverId: 'vm-2' })], delivered: [one] },
    ['check port-1 of vm-1'],
  ],
  'a port that moved is removed from its old node before the new one gets it': [
    { vms: [vm1, vm2], ports: [aPort(1, { serverId: 'vm-2' })], delivered: [one], portChecks: detached(1) },
    ['remove worker-1'],
  ],
  'two of five that disappear at once are removed': [
    { ports: [aPort(3), aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2) },
    ['send worker-1 2=port-3 3=port-4 4=port-5'],
  ],
  'three of five that disappear at once are put on hold': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2, 3) },
    [onHold(1), onHold(2), onHold(3)],
  ],
  'two that disappear while a third cannot be checked are put on hold': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2) },
    ['check port-3 of vm-1', onHold(1), onHold(2)],
  ],
  'a removal on hold stays on hold when the others return': [
    {
      ports: [aPort(2), aPort(3), aPort(4), aPort(5)],
      delivered: [five],
      portChecks: detached(1),
      removalsOnHold: [removal(1)],
    },
    [onHold(1)],
  ],
  'a port that returns is no longer on hold': [
    { ports: [1, 2, 3, 4, 5].map(n => aPort(n)), delivered: [five], removalsOnHold: [removal(1)] },
    [],
  ],
  'approved removals are done': [
    { ports: [aPort(4), aPort(5)], delivered: [five], portChecks: detached(1, 2, 3), removalsApproved: true },
    ['send worker-1 3=port-4 4=port-5'],
  ],
  'a removal beside others on hold is done': [
    {
      ports: [aPort(3), aPort(4), aPort(5)],
      delivered: [five],
      portChecks: detached(1, 2),
      removalsOnHold: [removal(1)],
    },
    ['send worker-1 0=port-1 2=port-3 3=port-4 4=port-5', onHold(1)],
  ],
  'all ports of a VM whose deletion Nova recorded are removed at once': [
    { delivered: [five], portChecks: new Map([1, 2, 3, 4, 5].map(n => [`port-${n}`, 'deleted'])) },
    ['remove worker-1'],
  ],
  'operator 7: a name in vmNames that now means another server: Nova is asked about the old one': [
    { ...reused, deletedVms: new Map() },
    ['vm-9 NameNotUnique', 'check vm-1'],
  ],
  'operator 7: a name in vmNames that now means another server removes nothing while the old one exists': [
    reused,
    ['vm-9 NameNotUnique', `${onHold(1)}: worker-1 in vmNames now means server vm-9`],
  ],
  'operator 7: a name in vmNames that now means another server, approved': [
    { ...reused, removalsApproved: true },
    ['remove worker-1', 'vm-9 NameNotUnique'],
  ],
  'operator 7: a name in vmNames that now means another server, and Nova recorded the deletion of the old one': [
    { ...reused, deletedVms: new Map([['vm-1', true]]) },
    ['remove worker-1', 'vm-9 NameNotUnique'],
  ],
  'a name in vmNames without a server keeps the VM that it meant': [
    { vms: [{ entry: 'worker-1', state: 'notFound' }], resolvedNames: { 'worker-1': 'vm-1' }, delivered: [one] },
    ['worker-1 VmNotFound', 'check port-1 of vm-1'],
  ],
  'operator 15b: a wrong entry of vmNames does not silently keep a VM that was taken out': [
    { vms: [{ entry: 'typo', state: 'notFound' }], delivered: [one], deletedVms: new Map([['vm-1', false]]) },
    ['typo VmNotFound', `${onHold(1)}: typo in vmNames matches no server`],
  ],
  'operator 15b: a name without a server does not keep another VM than the one that it meant': [
    { vms: [{ entry: 'other', state: 'notFound' }], resolvedNames: { other: 'vm-3' }, delivered: [one] },
    ['remove worker-1', 'other VmNotFound'],
  ],
  'when the user removes a subnet, all its ports are removed': [
    { subnets: [backup], ports: [1, 2, 3, 4, 5].map(n => aPort(n)), delivered: [five] },
    ['remove worker-1'],
  ],
  'when the user removes a VM, all its interfaces are removed': [
    { vms: [vm2], delivered: [five] },
    ['remove worker-1'],
  ],
  'a VM whose name cannot be resolved keeps its interfaces': [
    { vms: [{ entry: 'worker-1', state: 'unknown' }], delivered: [one] },
    ['check port-1 of vm-1'],
  ],
}

for (const [name, [given, expected]] of Object.entries(cases))
  test(name, () => assert.deepEqual(planText(planNodes(observed(given))), expected))
