/**
 * Objects that somebody edited or restored: finalizers and contradictory statuses.
 */
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import {
  addFinalizer,
  aStatus,
  config,
  configured,
  createJob,
  type PlanCase,
  testPlans,
  withStatus,
} from './plan.fixture.ts'
import { requestedOf } from './requested.ts'

const withFinalizer = { finalizers: ['multinic.io/node-cleanup'] }
const ran = { ...configured, lastJobName: 'job-1' }
const failed = aStatus('Failed', 'ApplyFailed', 1, { failedAttempts: 2 })

const edits: Record<string, NodeConfigStatus> = {
  'state is Failed': { ...configured, state: 'Failed' },
  'nics is 9/9': { ...configured, nics: '9/9' },
  'there are no conditions': { ...configured, conditions: [] },
  'Ready is False': { ...configured, conditions: aStatus('Failed', 'AllInterfacesConfigured', 1).conditions },
  'there are no interfaces': { ...configured, interfaceStatuses: [] },
  'an interface is Failed': {
    ...configured,
    interfaceStatuses: configured.interfaceStatuses?.map(nic => ({ ...nic, status: 'Failed' as const })),
  },
}

const cases: Record<string, PlanCase> = {}
for (const [what, status] of Object.entries(edits))
  cases[`controller L13: a Configured node is checked at once if ${what}`] = [
    { ...withStatus(status, withFinalizer), checkIntervalMs: 3_600_000 },
    'no status update (requeue after 2s)',
    createJob(0, { action: 'check', rate: 'check' }),
  ]

/** The status of an earlier generation, with hashes of what the agent got. */
const ofEarlier = (more: NodeConfigStatus = {}): NodeConfigStatus => ({
  ...ran,
  observedGeneration: 2,
  observedSpecHash: requestedOf(config).specHash,
  interfaceStatuses: requestedOf(config).interfaces.map(nic => ({
    ...{ id: nic.index, macAddress: nic.macAddress, status: 'Configured' as const, specHash: interfaceHash(nic) },
    lastConfigured: '2025-12-01T00:00:00Z',
  })),
  ...more,
})
const [first, ...others] = ofEarlier().interfaceStatuses ?? []
const checked = createJob(0, { action: 'check' })
const applied = createJob(0, { takesSlot: true })

testPlans({
  ...cases,
  'a spec with new names alone is checked, not applied': [
    withStatus(ofEarlier(), withFinalizer),
    'no status update (requeue after 2s)',
    checked,
  ],
  'a spec with another address is applied': [
    withStatus(ofEarlier({ interfaceStatuses: [{ ...first, specHash: 'other' }, ...others] }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a spec with an interface less is applied': [
    withStatus(
      ofEarlier({ interfaceStatuses: [...(ofEarlier().interfaceStatuses ?? []), { ...first, id: 5 }] }),
      withFinalizer,
    ),
    'no status update (requeue after 2s)',
    applied,
  ],
  'what was removed does not count as an interface': [
    withStatus(
      ofEarlier({ interfaceStatuses: [...(ofEarlier().interfaceStatuses ?? []), { id: 5, status: 'Removed' }] }),
      withFinalizer,
    ),
    'no status update (requeue after 2s)',
    checked,
  ],
  'a spec with another interface is applied': [
    withStatus(ofEarlier({ interfaceStatuses: [{ ...first, id: 5 }, ...others] }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a spec with new names is applied if an interface failed before': [
    withStatus(ofEarlier({ interfaceStatuses: [{ ...first, status: 'Failed' }, ...others] }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a spec with new names is applied if an interface waits for an older change': [
    withStatus(
      ofEarlier({ interfaceStatuses: [{ ...first, pending: { reason: 'Applying', message: '' } }, ...others] }),
      withFinalizer,
    ),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a spec with new names is applied to a node that failed': [
    withStatus(ofEarlier({ state: 'Failed' }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a spec with another hash is applied': [
    withStatus(ofEarlier({ observedSpecHash: 'other' }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'a retry of a Configured node applies, and does not only check': [
    withStatus(ofEarlier({ observedGeneration: 3 }), { ...withFinalizer, annotations: { 'multinic.io/retry': '1' } }),
    'no status update (requeue after 2s)',
    applied,
    { do: 'clearRequests' },
  ],
  'a spec with new names is applied after a reboot': [
    withStatus(ofEarlier({ bootID: 'boot-0' }), withFinalizer),
    'no status update (requeue after 2s)',
    applied,
  ],
  'controller L13: a Failed node is tried at once if its status contradicts itself': [
    withStatus({ ...failed, state: 'Failed', conditions: [] }, withFinalizer),
    'no status update (requeue after 2s)',
    createJob(2, { takesSlot: true, rate: 'retry' }),
  ],
  'a status without contradictions starts nothing': [withStatus(ran, withFinalizer), 'no status update'],
  'controller M4: the finalizer is restored on a settled config': [withStatus(ran), 'no status update', addFinalizer],
  'controller M4: the finalizer is restored while the config waits': [
    { ...withStatus({ ...ran, observedGeneration: 2 }), namespacePaused: true },
    'Pending Paused: annotation multinic.io/paused is set on namespace multinic-system',
    addFinalizer,
  ],
  'a config without a Job needs no finalizer': [
    { node: undefined },
    'Pending NodeNotFound: node w1 is not in this cluster',
  ],
})
