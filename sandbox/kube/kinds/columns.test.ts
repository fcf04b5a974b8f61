import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ApiObject, type Fields, isRecord } from '../json.ts'
import { columns, duration } from './columns.ts'
import type { Column } from './kinds.ts'

const now = new Date('2026-01-01T02:00:00Z')

function row(shown: readonly Column[], object: Fields): string {
  const metadata = {
    name: 'x',
    creationTimestamp: '2026-01-01T00:00:00Z',
    ...(isRecord(object['metadata']) ? object['metadata'] : {}),
  }
  const full: ApiObject = { apiVersion: 'v1', kind: 'X', ...object, metadata }
  return shown.map(column => column.cell(full, now)).join(' | ')
}

const running = {
  name: 'c',
  ready: true,
  restartCount: 2,
  state: { running: {} },
  lastState: { terminated: { finishedAt: '2026-01-01T01:59:50Z' } },
}
const pod = (status: Fields, metadata: Fields = {}) => ({
  metadata,
  spec: { nodeName: 'n1', containers: [{}] },
  status,
})
const ready = (status: string) => ({
  conditions: [{ type: 'Ready', status }],
  addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
  nodeInfo: { kubeletVersion: 'v1', osImage: 'Debian' },
})

const rows: Record<string, [columns: readonly Column[], object: Fields, row: string]> = {
  'a ready node': [columns.nodes, { status: ready('True') }, 'x | Ready | <none> | 120m | v1 | 10.0.0.1'],
  'a cordoned node with unknown status': [
    columns.nodes.slice(0, 3),
    {
      spec: { unschedulable: true },
      status: ready('Unknown'),
      metadata: { labels: { 'node-role.kubernetes.io/worker': '' } },
    },
    'x | NotReady,SchedulingDisabled | worker',
  ],
  'a running Pod after restarts': [
    columns.pods.slice(0, 7),
    pod({ phase: 'Running', podIP: '1.2.3.4', containerStatuses: [running] }),
    'x | 1/1 | Running | 2 (10s ago) | 120m | 1.2.3.4 | n1',
  ],
  'a waiting Pod': [
    columns.pods.slice(0, 4),
    pod({ phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'CrashLoopBackOff' } } }] }),
    'x | 0/1 | CrashLoopBackOff | 0',
  ],
  'a completed Pod': [
    columns.pods.slice(0, 3),
    pod({ phase: 'Succeeded', containerStatuses: [{ state: { terminated: { exitCode: 0, reason: 'Completed' } } }] }),
    'x | 0/1 | Completed',
  ],
  'a failed Pod without a reason': [
    columns.pods.slice(0, 3),
    pod({ phase: 'Failed', containerStatuses: [{ state: { terminated: { exitCode: 3 } } }] }),
    'x | 0/1 | ExitCode:3',
  ],
  'a deleted Pod': [
    columns.pods.slice(0, 3),
    pod({ phase: 'Running' }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    'x | 0/1 | Terminating',
  ],
  'a completed Job': [
    columns.jobs.slice(0, 5),
    {
      spec: { completions: 1 },
      status: {
        succeeded: 1,
        startTime: '2026-01-01T00:00:00Z',
        completionTime: '2026-01-01T00:00:07Z',
        conditions: [{ type: 'Complete', status: 'True' }],
      },
    },
    'x | Complete | 1/1 | 7s | 120m',
  ],
  'an Event': [
    columns.events.filter(one => !one.priority),
    {
      type: 'Normal',
      reason: 'Made',
      message: 'it ',
      involvedObject: { kind: 'Job', name: 'j' },
      lastTimestamp: '2026-01-01T01:59:00Z',
    },
    '60s | Normal | Made | job/j | it',
  ],
}

for (const [name, [shown, object, expected]] of Object.entries(rows)) {
  test(name, () => assert.equal(row(shown, object), expected))
}

const durations: [seconds: number, text: string][] = [
  [0, '0s'],
  [119, '119s'],
  [120, '2m'],
  [599, '9m59s'],
  [600, '10m'],
  [3 * 3600 - 1, '179m'],
  [3 * 3600, '3h'],
  [8 * 3600 - 1, '7h59m'],
  [47 * 3600, '47h'],
  [50 * 3600, '2d2h'],
  [20 * 86400, '20d'],
  [800 * 86400, '2y70d'],
  [9 * 365 * 86400, '9y'],
]

for (const [seconds, text] of durations) {
  test(`${seconds} seconds are shown as ${text}`, () => assert.equal(duration(seconds * 1000), text))
}
