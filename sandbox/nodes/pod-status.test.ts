import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PodObject } from '../../src/kube/types.ts'
import { fieldOf, podStatus, terminationMessage } from './pod-status.ts'

const pod: PodObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'n', uid: 'u', labels: { app: 'agent' } },
  spec: { nodeName: 'worker-1', containers: [{ name: 'agent', image: 'agent:1' }] },
}
const place = { hostIP: '10.0.0.10', startTime: '2026-11-15T00:00:00Z' }

const words: Record<
  string,
  [message: string, log: string, policy: string | undefined, exitCode: number, expected: string]
> = {
  'the termination message takes precedence': ['done', 'log', 'FallbackToLogsOnError', 1, 'done'],
  'without a message, the end of the log of a failed container': ['', 'boom\n', 'FallbackToLogsOnError', 1, 'boom\n'],
  'no message for a successful container': ['', 'fine\n', 'FallbackToLogsOnError', 0, ''],
  'the File policy does not fall back to the log': ['', 'boom\n', 'File', 1, ''],
  'a message is truncated at 4096 bytes': ['x'.repeat(5000), '', 'File', 0, 'x'.repeat(4096)],
  'the end of a log is truncated at 2048 bytes': ['', 'y'.repeat(5000), 'FallbackToLogsOnError', 1, 'y'.repeat(2048)],
}
for (const [name, [message, log, policy, exitCode, expected]] of Object.entries(words))
  test(name, () => assert.equal(terminationMessage(message, log, policy, exitCode), expected))

test('a restarted container shows the last state', () => {
  const last = { terminated: { exitCode: 137 } }
  const state = { phase: 'Running' as const, container: { running: { startedAt: 'now' } }, last, restarts: 1 }
  const status = podStatus(pod, state, place, 'now')
  assert.deepEqual(status.containerStatuses?.[0]?.lastState, last)
  assert.equal(status.containerStatuses?.[0]?.restartCount, 1)
  assert.deepEqual(
    status.conditions?.map(each => `${each.type} ${each.status}`),
    ['Initialized True', 'Ready True', 'ContainersReady True', 'PodScheduled True'],
  )
})

test('a condition keeps its last transition time', () => {
  const running = { phase: 'Running' as const, container: { running: {} }, restarts: 0 }
  const before = { ...pod, status: podStatus(pod, running, place, 'first') }
  const after = podStatus(
    before,
    { ...running, phase: 'Succeeded', container: { terminated: { exitCode: 0 } } },
    place,
    'second',
  )
  assert.deepEqual(
    after.conditions?.map(each => [each.type, each.lastTransitionTime]),
    [
      ['Initialized', 'first'],
      ['Ready', 'second'],
      ['ContainersReady', 'second'],
      ['PodScheduled', 'first'],
    ],
  )
})

test('fieldRef values come from the Pod', () => {
  const paths = [
    'metadata.name',
    'metadata.namespace',
    'metadata.uid',
    'spec.nodeName',
    'status.hostIP',
    "metadata.labels['app']",
  ]
  assert.deepEqual(
    paths.map(path => fieldOf(pod, path, place.hostIP)),
    ['p', 'n', 'u', 'worker-1', '10.0.0.10', 'agent'],
  )
  assert.equal(fieldOf(pod, 'spec.unheard', place.hostIP), undefined)
})
