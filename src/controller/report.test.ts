import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ContainerState, PodObject } from '../kube/types.ts'
import { aConfig, aReport, hashFor } from './controller.fixture.ts'
import { exitOf, readReport } from './report.ts'

const config = aConfig()
const expected = { node: 'w1', mode: 'apply', generation: 3, specHash: hashFor(config) } as const
const valid = JSON.stringify(aReport(config))

const unusable: Record<string, [message: string, reason: string]> = {
  'a missing report': ['', 'the agent left no report (exit code 0)'],
  'a log in place of a report': ['panic: out of memory', 'the agent left no report, but: panic: out of memory'],
  'a truncated report': [`${' '.repeat(4_000)}${valid}`.slice(0, 4_096), 'the report is truncated'],
  'a report of 10 MiB': [`${valid.slice(0, -1)},"more":"${'x'.repeat(10 * 1024 * 1024)}"}`, 'the report is truncated'],
  'ten million nested lists': ['['.repeat(10_000_000), 'the report is truncated'],
  'a report in another format': [
    '{"version":2}',
    'the report has invalid fields: version, node, mode, generation, specHash',
  ],
  'a report of an older generation': [
    JSON.stringify(aReport(config, { generation: 2 })),
    'the report belongs to another run: generation is 2, not 3',
  ],
  'a report of another spec': [
    JSON.stringify(aReport(config, { specHash: 'other' })),
    `the report belongs to another run: specHash is other, not ${expected.specHash}`,
  ],
  'a report of another node': [
    JSON.stringify(aReport(config, { node: 'w2' })),
    'the report belongs to another run: node is w2, not w1',
  ],
  'a report of another mode': [
    JSON.stringify(aReport(config, { mode: 'check' })),
    'the report belongs to another run: mode is check, not apply',
  ],
}

for (const [name, [message, reason]] of Object.entries(unusable))
  test(`${name} is no success`, () =>
    assert.deepEqual(readReport({ exitCode: 0, message }, expected), { missing: reason }))

test('a report of this run is accepted', () =>
  assert.deepEqual(readReport({ exitCode: 0, message: valid }, expected), { report: aReport(config) }))

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

const exits: Record<string, [pod: PodObject, exit: ReturnType<typeof exitOf>]> = {
  'a Pod without a container': [pod('Pending'), undefined],
  'a running agent': [pod('Running', { running: {} }), undefined],
  'an agent that exited with 0 while its Pod still runs': [
    pod('Running', exited(0, 'report')),
    { exitCode: 0, message: 'report' },
  ],
  'an agent that will be restarted': [pod('Running', exited(1, 'oops')), undefined],
  'an agent that was restarted': [pod('Running', { running: {} }, exited(137, 'killed')), undefined],
  'an agent that failed with its Pod': [pod('Failed', exited(1, 'oops')), { exitCode: 1, message: 'oops' }],
  'an agent killed after its last report': [
    pod('Failed', exited(137), exited(0, 'report')),
    { exitCode: 0, message: 'report' },
  ],
  'a failed Pod without a message': [pod('Failed'), { exitCode: 1, message: '' }],
  'a Pod that the kubelet rejected': [
    pod('Failed', undefined, undefined, { reason: 'OutOfcpu', message: 'Node didn’t have enough resource: cpu' }),
    { exitCode: 1, message: 'OutOfcpu: Node didn’t have enough resource: cpu' },
  ],
}

for (const [name, [value, exit]] of Object.entries(exits))
  test(`${name} ${exit ? 'has ended' : 'has not ended'}`, () => assert.deepEqual(exitOf(value), exit))
