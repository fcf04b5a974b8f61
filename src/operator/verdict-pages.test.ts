import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { OperatorVerdict } from '../contract/operator-api.ts'
import { pageOf } from './verdict-pages.ts'

const reasons: Record<string, string> = {
  0: 'PrimaryPort',
  1: 'Selected',
  2: 'DeviceOwnerNotAllowed',
  3: 'DeviceOwnerNotAllowed',
}
const verdicts: OperatorVerdict[] = ['b', 'a'].flatMap(config =>
  ['vm-2', 'vm-1'].flatMap(vm =>
    ['3', '1', '2', '0'].map(port => ({
      config: `ns/${config}`,
      providerId: `cluster-${config}`,
      vm,
      portId: `${config}-${vm}-${port}`,
      reason: reasons[port] ?? '',
      message: '',
    })),
  ),
)
const ports = ({ verdicts }: { verdicts: OperatorVerdict[] }) => verdicts.map(({ portId }) => portId).join(' ')

const cases: Record<string, [query: Record<string, string>, expected: string]> = {
  'of a provider': [{ providerId: 'cluster-a', vm: 'vm-1' }, 'a-vm-1-3 a-vm-1-1 a-vm-1-2 a-vm-1-0'],
  'of ignored ports': [{ config: 'ns/b', taken: 'false', limit: '3' }, 'b-vm-1-2 b-vm-1-3 b-vm-2-2'],
  'of selected ports': [{ taken: 'true', limit: '10' }, 'a-vm-1-1 a-vm-2-1 b-vm-1-1 b-vm-2-1'],
  'of an unknown provider': [{ providerId: 'nobody' }, ''],
}
for (const [name, [query, expected]] of Object.entries(cases))
  test(`verdicts ${name}`, () => assert.equal(ports(pageOf(verdicts, query)), expected))

test('operator 15g: pages have no gaps and no duplicates', () => {
  const seen: string[] = []
  let cursor = ''
  for (;;) {
    const page = pageOf(verdicts.toReversed(), { limit: '5', cursor })
    seen.push(...page.verdicts.map(({ portId = '' }) => portId))
    if (page.next === undefined) break
    cursor = page.next
  }
  assert.equal(seen.length, verdicts.length)
  assert.deepEqual(seen, [...seen].sort())
})

test('an invalid limit or cursor is refused', () => {
  for (const limit of ['0', '5001', '-1', 'many']) assert.throws(() => pageOf([], { limit }), /from 1 to 5000/)
  assert.throws(() => pageOf([], { limit: '1', cursor: 'nonsense' }), /cursor is invalid/)
})
