import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InterfaceStatus, NodeConfigStatus } from '../../contract/node-config.ts'
import { aConfig, aReport, start } from '../controller.fixture.ts'
import { nextStatus } from '../status.ts'
import { isConsistent } from './consistency.ts'
import { aStatus } from './plan.fixture.ts'
import { requestedOf } from './requested.ts'
import type { StatusUpdate } from './step.ts'

const config = aConfig()
const success: StatusUpdate = {
  ...{ state: 'Configured', reason: 'AllInterfacesConfigured', message: '', progressing: false, failedAttempts: 0 },
  ...{ job: 'job-1', result: { bootID: 'boot-1', report: aReport(config) } },
}
const configured = nextStatus(config, success, new Date(start)) ?? assert.fail()
const drifted = aStatus('Failed', 'Drifted', 60)
const { conditions = [], interfaceStatuses: [first = {}, second = {}] = [] } = configured
const withFirst = (edit: InterfaceStatus): NodeConfigStatus => ({
  ...configured,
  interfaceStatuses: [{ ...first, ...edit }, second],
})
const withCondition = (type: string, edit: object): NodeConfigStatus => ({
  ...configured,
  conditions: conditions.map(one => (one.type === type ? { ...one, ...edit } : one)),
})

const contradictions: Record<string, NodeConfigStatus> = {
  'the MAC addresses of two interfaces are swapped': {
    ...configured,
    interfaceStatuses: [
      { ...first, macAddress: second.macAddress },
      { ...second, macAddress: first.macAddress },
    ],
  },
  'it has no condition Degraded': { ...configured, conditions: conditions.filter(({ type }) => type !== 'Degraded') },
  'it has a condition twice': { ...configured, conditions: [...conditions.slice(0, 2), ...conditions.slice(0, 1)] },
  'it has an unknown condition': {
    ...configured,
    conditions: [...conditions, { type: 'Fine', status: 'True', reason: success.reason }],
  },
  'it is Configured and makes progress': withCondition('Progressing', { status: 'True' }),
  'its conditions have two reasons': withCondition('Ready', { reason: 'Fine' }),
  'a condition is about another generation': withCondition('Ready', { observedGeneration: 2 }),
  'it is about another spec': { ...configured, observedSpecHash: 'other' },
  'it has no interfaces, and its count agrees': { ...drifted, interfaceStatuses: [], nics: '0/2' },
  'it has an invented interface': {
    ...configured,
    interfaceStatuses: [first, second, { ...second, id: 7, macAddress: 'fa:16:3e:00:00:07' }],
  },
  'an interface has another name': withFirst({ name: 'multinic7' }),
  'an interface has another port': withFirst({ portId: 'other' }),
  'an interface is about another request': withFirst({ specHash: 'other' }),
  'an interface is Configured and never was configured': withFirst({ lastConfigured: undefined }),
  'it is Configured with an interface that failed, and its count agrees': {
    ...withFirst({ status: 'Failed' }),
    nics: '1/2',
  },
  'it is Configured with an interface that waits': withFirst({ pending: { reason: 'Applying', message: '' } }),
  'it has only a state': { state: 'Configured' },
}

for (const [why, status] of Object.entries(contradictions))
  test(`a status contradicts itself if ${why}`, () =>
    assert.equal(isConsistent(aConfig({ status }), requestedOf(config)), false))

const removed = { id: 5, macAddress: 'fa:16:3e:00:00:05', status: 'Removed' } as const
const written: Record<string, NodeConfigStatus> = {
  configured,
  drifted,
  'configured beside an interface that was removed': { ...configured, interfaceStatuses: [first, second, removed] },
  'configured with a warning': {
    ...configured,
    conditions: [...conditions, { type: 'Warning', status: 'True', reason: 'SecondaryInternalIP' }],
  },
}
for (const [what, status] of Object.entries(written))
  test(`a status as the controller writes it does not contradict itself: ${what}`, () =>
    assert.equal(isConsistent(aConfig({ status }), requestedOf(config)), true))
