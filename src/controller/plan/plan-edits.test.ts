/**
 * Objects that somebody edited or restored: finalizers and contradictory statuses.
 */
import type { NodeConfigStatus } from '../../contract/node-config.ts'
import { addFinalizer, aStatus, configured, createJob, type PlanCase, testPlans, withStatus } from './plan.fixture.ts'

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

testPlans({
  ...cases,
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
