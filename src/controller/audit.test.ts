/** Who asked for a retry or a check, as the controller logs it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeConfig } from '../contract/node-config.ts'
import { requestsIn } from './audit.ts'

const cases: [name: string, annotations: Record<string, string> | undefined, expected: string[]][] = [
  ['no annotation', undefined, []],
  ['a claim without a request', { 'multinic.io/requested-by': 'kim' }, []],
  [
    'a request with a claim',
    { 'multinic.io/retry': 'now', 'multinic.io/requested-by': 'kim' },
    ['node-config.retry worker-1 kim claimed'],
  ],
  ['a request without a claim', { 'multinic.io/check': 'now' }, ['node-config.check worker-1  unknown']],
  [
    'both, and a name with control characters',
    { 'multinic.io/retry': 'multinic1', 'multinic.io/check': 'now', 'multinic.io/requested-by': 'k\u001b[31mim\n' },
    ['node-config.retry worker-1 k[31mim claimed', 'node-config.check worker-1 k[31mim claimed'],
  ],
]

for (const [name, annotations, expected] of cases)
  test(`${name}: ${expected.length} requests`, () => {
    const metadata = { name: 'worker-1', ...(annotations && { annotations }) }
    const config = { metadata, spec: { nodeName: 'worker-1', interfaces: [] } } as unknown as NodeConfig
    const found = requestsIn(config).map(facts =>
      ['action', 'object', 'caller', 'proof'].map(key => facts[key]).join(' '),
    )
    assert.deepEqual(found, expected)
  })
