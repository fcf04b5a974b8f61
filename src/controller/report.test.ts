import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerState, PodObject } from '../kube/types.ts'
import { aConfig, aReport, hashFor } from './controller.fixture.ts'
import { endingOf, readReport } from './report.ts'

const config = aConfig()
const expected = { node: 'w1', mode: 'apply', generation: 3, specHash: hashFor(config) } as const
const whole = JSON.stringify(aReport(config))

const lost: Record<string, [message: string, line: string]> = {
  'a missing report': ['', 'the agent left no report (exit code 0)'],
  'a log in place of a report': ['panic: out of memory', 'the agent left no report but: panic: out of memory'],
  'a cut report': [`${' '.repeat(4_000)}${whole}`.slice(0, 4_096), 'the agent’s report was cut'],
  'a report with other words': [
    '{"version":2}',
    'the agent’s report is not usable: see version, node, mode, generation, specHash',
  ],
  'a report of an older generation': [
    JSON.stringify(aReport(config, { generation: 2 })),
    'the report is of another run: its generation is 2, not 3',
  ],
  'a report of another spec': [
    JSON.stringify(aReport(config, { specHash: 'other' })),
    `the report is of another run: its specHash is other, not ${expected.specHash}`,
  ],
  'a report of another node': [
    JSON.stringify(aReport(config, { node: 'w2' })),
    'the report is of another run: its node is w2, not w1',
  ],
  'a report of another mode': [
    JSON.stringify(aReport(config, { mode: 'check' })),
    'the report is of another run: its mode is check, not apply',
  ],
}

for (const [name, [message, line]] of Object.entries(lost))
  test(`${name} is no success`, () => assert.deepEqual(readReport({ exitCode: 0, message }, expected), { lost: line }))

test('a report of this run is read', () =>
  assert.deepEqual(readReport({ exitCode: 0, message: whole }, expected), { report: aReport(config) }))

function pod(
  phase: string,
  state?: ContainerState,
  lastState?: ContainerState,
  status: PodObject['status'] = {},
): PodObject {
  const containerStatuses = [{ name: 'agent', ...(state && { state }), ...(lastState && { lastState }) }]
  const spec = { containers: [] }
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec,
    status: { ...status, phase, containerStatuses },
  }
}
const exited = (exitCode: number, message?: string) => ({ terminated: { exitCode, ...(message && { message }) } })

const endings: Record<string, [pod: PodObject, ending: ReturnType<typeof endingOf>]> = {
  'a Pod without a container': [pod('Pending'), undefined],
  'a running agent': [pod('Running', { running: {} }), undefined],
  'an agent that ended well while its Pod still runs': [
    pod('Running', exited(0, 'report')),
    { exitCode: 0, message: 'report' },
  ],
  'an agent that will be started again': [pod('Running', exited(1, 'oops')), undefined],
  'an agent that was started again': [pod('Running', { running: {} }, exited(137, 'killed')), undefined],
  'an agent that ended badly with its Pod': [pod('Failed', exited(1, 'oops')), { exitCode: 1, message: 'oops' }],
  'an agent killed after its last report': [
    pod('Failed', exited(137), exited(0, 'report')),
    { exitCode: 0, message: 'report' },
  ],
  'a Pod that went without a word': [pod('Failed'), { exitCode: 1, message: '' }],
  'a Pod that the node refused': [
    pod('Failed', undefined, undefined, { reason: 'OutOfcpu', message: 'Node didn’t have enough resource: cpu' }),
    { exitCode: 1, message: 'OutOfcpu: Node didn’t have enough resource: cpu' },
  ],
}

for (const [name, [given, ending]] of Object.entries(endings))
  test(`${name} ${ending ? 'has ended' : 'has not ended'}`, () => assert.deepEqual(endingOf(given), ending))
