import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AgentReport, agentReport, maxReportBytes as limit } from '../contract/agent-report.ts'
import { fitReport, maxReportBytes } from './report.ts'

function aReport(values: Partial<AgentReport> = {}): AgentReport {
  return {
    version: 1,
    node: 'worker-1',
    mode: 'apply',
    generation: 7,
    specHash: 'a'.repeat(64),
    verdict: 'Failed',
    reason: 'CommandFailed',
    message: '',
    interfaces: [],
    changed: 0,
    removed: [],
    undone: [],
    timings: { total: 12 },
    ...values,
  }
}

test('the size limit equals that of the contract', () => assert.equal(maxReportBytes, limit))

test('a short report is not changed', () => {
  assert.deepEqual(JSON.parse(fitReport(aReport({ message: 'x' }))), aReport({ message: 'x' }))
})

test('fields that only a trace needs are dropped first', () => {
  const timings = { total: 12, apply: 5, verify: 4, startedAt: 1_700_000_000_000, applyAt: 1_700_000_000_003 }
  const traced = { timings, traceId: 'f'.repeat(32) }
  const room = limit - Buffer.byteLength(JSON.stringify(aReport({ ...traced })))
  const just = aReport({ ...traced, message: 'm'.repeat(room) })
  assert.deepEqual(JSON.parse(fitReport(just)), just)
  const { traceId: _, ...lean } = { ...just, message: `${just.message}m`, timings: { total: 12, apply: 5 } }
  assert.deepEqual(JSON.parse(fitReport({ ...just, message: `${just.message}m` })), lean)
})

test('L6: room that dropped port IDs leave goes to the messages', () => {
  const interfaces = Array.from({ length: 10 }, (_, id) => ({
    id,
    name: `multinic${id}`,
    macAddress: 'fa:16:3e:00:00:01',
    portId: 'p'.repeat(253),
    status: 'Failed' as const,
    reason: 'CommandFailed' as const,
    message: 'm'.repeat(900),
  }))
  const fitted = JSON.parse(fitReport(aReport({ interfaces, node: 'n'.repeat(253) }))) as AgentReport
  for (const { message = '' } of fitted.interfaces) assert.ok(message.length >= 120, `${message.length} characters`)
})

test('any report fits, stays valid, and keeps every verdict and reason', () => {
  const anyText = fc.string({ maxLength: 2_000, unit: fc.constantFrom('a', '"', '\\', 'é', '…', '한', '\n') })
  const nic = fc.record({ message: anyText, portId: fc.string({ minLength: 1, maxLength: 253 }), failed: fc.boolean() })
  fc.assert(
    fc.property(
      fc.array(nic, { maxLength: 10 }),
      anyText,
      fc.array(anyText, { maxLength: 60 }),
      (nics, message, removed) => {
        const report = aReport({
          message,
          removed,
          node: 'n'.repeat(253),
          backend: { kind: 'netplan', because: [message] },
          bootID: 'b'.repeat(36),
          interfaces: nics.map(({ message, portId, failed }, id) => ({
            id,
            name: `multinic${id}`,
            macAddress: 'fa:16:3e:00:00:01',
            portId,
            status: failed ? ('Failed' as const) : ('Configured' as const),
            reason: failed ? 'ForeignAddresses' : 'Configured',
            message,
            observed: {
              name: `multinic${id}`,
              ifindex: id,
              mtu: 1500,
              addresses: Array.from({ length: 8 }, () => 'fd00:1111:2222:3333:4444:5555:6666:7777/64'),
              link: 'up' as const,
            },
          })),
        })
        const text = fitReport(report)
        assert.ok(Buffer.byteLength(text) <= maxReportBytes, `${Buffer.byteLength(text)} bytes`)
        const read = agentReport.parse(JSON.parse(text))
        assert.equal(read.verdict, report.verdict)
        assert.deepEqual(
          read.interfaces.map(({ id, status, reason }) => [id, status, reason]),
          report.interfaces.map(({ id, status, reason }) => [id, status, reason]),
        )
      },
    ),
    { numRuns: 60 },
  )
})
