/**
 * Follows one port through all components by its trace ID: in their logs and in the spans of a collector.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { nodeConfigAnnotations } from '../../src/contract/node-config.ts'
import { parseTraceparent } from '../../src/telemetry/trace.ts'
import { eventually } from '../support/eventually.ts'
import type { ReceivedSpan } from '../support/otlp-collector.ts'
import type { TestSandbox } from './sandbox.fixture.ts'

type Line = Record<string, unknown>

/** The trace of the delivery that last changed the node. */
export async function traceIdOf(system: TestSandbox, node: string): Promise<string> {
  const { annotations } = (await system.nodeConfig(node)).metadata
  const parent = parseTraceparent(annotations?.[nodeConfigAnnotations.traceparent])
  return parent?.traceId ?? assert.fail(`${node} has no traceparent annotation`)
}

/** `component: message` of every log line with the trace ID, sorted by time. */
export function linesOf(system: TestSandbox, traceId: string): string[] {
  const { state } = system.sandbox
  const files = [...globSync('logs/*.log', { cwd: state.dir }), ...globSync('**/log', { cwd: state.dir })]
  const lines = files.flatMap(file =>
    readFileSync(join(state.dir, file), 'utf8')
      .split('\n')
      .filter(line => line.startsWith('{') && line.includes(traceId))
      .map(line => JSON.parse(line) as Line),
  )
  for (const line of lines) assert.equal(line['traceId'], traceId, JSON.stringify(line))
  return lines
    .toSorted((a, b) => (String(a['time']) < String(b['time']) ? -1 : 1))
    .map(({ component, message }) => `${component}: ${message}`)
}

/** Each span and its parent. A notification is the parent of the sync that it starts. */
const tree: Record<string, string | undefined> = {
  sync: undefined,
  'sync.cloud': 'sync',
  'sync.held': 'sync',
  'sync.plan': 'sync',
  deliver: 'sync',
  'sync.status': 'sync',
  'sync.record': 'sync',
  viola: 'deliver',
  cr: 'viola',
  job: 'cr',
  'pod-start': 'job',
  agent: 'job',
  apply: 'agent',
  verify: 'agent',
  status: 'job',
  inventory: 'deliver',
}
/** These spans end in this order, however slow a process is. */
const stages = ['apply', 'verify', 'agent', 'status']

export async function isOneTrace(collector: { spans: ReceivedSpan[] }, traceId: string): Promise<ReceivedSpan[]> {
  const own = () => collector.spans.filter(span => span.traceId === traceId)
  await eventually(() => assert.ok(own().some(({ name }) => name === 'inventory')), { within: 30_000 })
  await eventually(() => {
    const names = new Set(own().map(({ name }) => name))
    assert.deepEqual(
      Object.keys(tree).filter(name => !names.has(name)),
      [],
    )
  })
  const spans = own()
  const byId = new Map(spans.map(span => [span.spanId, span]))
  const isNotified = spans.some(({ name }) => name === 'notification')
  const parents: typeof tree = { ...tree, 'sync.answers': 'sync', ...(isNotified && { sync: 'notification' }) }
  for (const { name, parentSpanId } of spans)
    assert.equal(byId.get(parentSpanId ?? '')?.name, parents[name], `parent of ${name}`)
  const ends = stages.map(stage => spans.findLast(({ name }) => name === stage)?.end ?? 0n)
  assert.deepEqual(
    ends,
    ends.toSorted((a, b) => Number(a - b)),
    `${stages}: ${ends}`,
  )
  // The operator learns of a status from a stream, maybe before the controller gets the answer to its write.
  const last = (name: string) => spans.findLast(span => span.name === name) ?? assert.fail(`no ${name}`)
  assert.ok(last('inventory').end >= last('status').start, 'the inventory has the result before it was written')
  return spans
}
