import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aPlan } from '../../../test/support/inventory.ts'
import { maxWrites } from '../../contract/inventory.ts'
import { maxVerdictsPerWrite, type VerdictWrite, verdictWrite } from '../../contract/operator-api.ts'
import type { Verdict } from '../plan/verdicts.ts'
import { type ObjectVerdicts, verdictChanges } from './verdict-changes.ts'

const on = (vm: string, port: string, message = 'm'): Verdict => ({
  ...{ vm, portId: `${vm}-${port}`, reason: 'PortStatusNotAllowed', message },
})
const object = (verdicts: readonly Verdict[] | undefined, more: Partial<ObjectVerdicts> = {}): ObjectVerdicts => ({
  ...{ config: 'ns/main', providerId: 'biz', verdicts, ...more },
})
const text = ({ providerId, after = '', upTo = '', removed, verdicts, plan }: VerdictWrite) =>
  removed
    ? `${providerId} removed`
    : plan
      ? `(${after},${upTo}] plan for ${plan.nodes.length}`
      : `(${after},${upTo}] ${verdicts.map(({ portId }) => portId).join(' ')}`
const changes = (now: ObjectVerdicts, stored?: ObjectVerdicts) => [...verdictChanges(now, stored)]

const known = object([on('b', '1'), on('a', '1'), on('c', '1'), on('a', '2')])
const cases: Record<string, [now: ObjectVerdicts, stored: ObjectVerdicts | undefined, writes: string[]]> = {
  'all VMs, in one range without ends, if the inventory is unknown': [known, undefined, ['(,] a-1 a-2 b-1 c-1']],
  'an empty range without ends for an object without verdicts': [object([]), undefined, ['(,] ']],
  'nothing for the same verdicts': [object(known.verdicts?.map(one => ({ ...one }))), known, []],
  'only the VM that differs': [
    object([on('a', '1'), on('a', '2'), on('b', '1', 'new'), on('c', '1')]),
    known,
    ['(a,b] b-1'],
  ],
  'VMs that are gone, with their neighbours in one range': [object([on('c', '1')]), known, ['(,b] ']],
  'a new VM': [object([...(known.verdicts ?? []), on('bb', '1')]), known, ['(b,bb] bb-1']],
  'two ranges with a VM between them': [object([on('b', '1')]), known, ['(,a] ', '(b,c] ']],
  'only a plan that differs': [{ ...known, plan: aPlan('a') }, { ...known, plan: aPlan('b') }, ['(,] plan for 1']],
  'nothing for the same plan': [{ ...known, plan: aPlan('a') }, { ...known, plan: aPlan('a') }, []],
  'the plan of an object that moved': [
    object([], { providerId: 'new', plan: aPlan('a') }),
    { ...known, plan: aPlan('a') },
    ['biz removed', '(,] plan for 1', '(,] '],
  ],
  'a deletion': [object(undefined), known, ['biz removed']],
  'a move to another provider': [object([on('a', '1')], { providerId: 'new' }), known, ['biz removed', '(,] a-1']],
  'a move during a restart': [
    object([on('a', '1')], { providerId: 'new', providerBefore: 'biz' }),
    undefined,
    ['biz removed', '(,] a-1'],
  ],
}

/** Without its ends it would delete all verdicts. */
test('the range of a plan has no VM', () => {
  const [write] = changes({ ...known, plan: aPlan('a') }, known)
  assert.deepEqual([write?.after, write?.upTo], ['', ''])
})

for (const [name, [now, stored, writes]] of Object.entries(cases))
  test(`writes ${name}`, () => assert.deepEqual(changes(now, stored).map(text), writes))

test('a write has all fields of a verdict, and only those', () => {
  const portSecurity = { enabled: true, allowedAddressPairs: [] }
  const full = { ...on('a', '1'), vmName: 'web-1', name: 'multinic0', portSecurity }
  const bare: Verdict = { vm: 'b', reason: 'VmNotFound', message: 'm' }
  assert.deepEqual(changes(object([full, bare])), [{ config: 'ns/main', providerId: 'biz', verdicts: [full, bare] }])
  assert.deepEqual(changes(object([]), object([full])), [
    { config: 'ns/main', providerId: 'biz', upTo: 'a', verdicts: [] },
  ])
})

test('a deletion, a move and a plan have no verdicts', () => {
  const plan = aPlan('a')
  const removed = { config: 'ns/main', providerId: 'biz', removed: true, verdicts: [] }
  assert.deepEqual(changes(object(undefined), known), [removed])
  assert.deepEqual(changes(object([], { providerId: 'new', plan }), known), [
    removed,
    { config: 'ns/main', providerId: 'new', after: '', upTo: '', verdicts: [], plan },
    { config: 'ns/main', providerId: 'new', verdicts: [] },
  ])
  assert.deepEqual(changes(object([], { plan }))[0]?.plan, plan)
})

const padded = (n: number) => `vm-${String(n).padStart(4, '0')}`
/** How many VMs and verdicts each write has. */
const sizesOf = (vms: number, verdictsOf: (vm: string) => Verdict[]) =>
  changes(object(Array.from({ length: vms }, (_, n) => verdictsOf(padded(n))).flat())).map(({ verdicts }) => [
    new Set(verdicts.map(({ vm }) => vm)).size,
    verdicts.length,
  ])

test('a write ends with the VM that makes it full: by VMs, by verdicts or by bytes', () => {
  const ports = (count: number) => Array.from({ length: count }, (_, n) => String(n))
  assert.deepEqual(
    sizesOf(2 * maxWrites + 1, vm => [on(vm, '1')]),
    [
      [maxWrites, maxWrites],
      [maxWrites, maxWrites],
      [1, 1],
    ],
  )
  assert.deepEqual(
    sizesOf(201, vm => ports(10).map(port => on(vm, port))),
    [
      [100, 1_000],
      [100, 1_000],
      [1, 10],
    ],
  )
  // 300 bytes, a text of 948 and 8 address pairs: 512 of them are 1 MiB.
  const pair = { ipAddress: '10.0.0.1', macAddress: '02:00:00:00:00:01' }
  const portSecurity = { enabled: true, allowedAddressPairs: Array.from({ length: 8 }, () => pair) }
  const large = (vm: string) => ports(4).map(port => ({ ...on(vm, port, 'x'.repeat(948)), portSecurity }))
  assert.deepEqual(sizesOf(257, large), [
    [128, 512],
    [128, 512],
    [1, 4],
  ])
})

test('the writes of a large fleet are bounded, and cover all VMs without gaps', () => {
  const vms = Array.from({ length: 3_000 }, (_, n) => `vm-${n}`)
  const writes = changes(object(vms.flatMap(vm => ['1', '2', '3', '4', '5', '6'].map(port => on(vm, port)))))
  assert.equal(
    writes.reduce((sum, { verdicts }) => sum + verdicts.length, 0),
    6 * vms.length,
  )
  for (const [at, write] of writes.entries()) {
    verdictWrite.parse(write)
    assert.equal(write.after, writes[at - 1]?.upTo)
    assert.ok(new Set(write.verdicts.map(({ vm }) => vm)).size <= maxWrites)
  }
  assert.equal(writes.at(-1)?.upTo, undefined)
})

test('VMs are in the order of bytes, as in the database', () => {
  const [write] = changes(object(['\u{1f44d}', '\uffee', 'a'].map(vm => on(vm, '1'))))
  assert.deepEqual(
    write?.verdicts.map(({ vm }) => vm),
    ['a', '\uffee', '\u{1f44d}'],
  )
})

test('hostile texts of a cloud make no write that the inventory refuses', () => {
  const long = 'x'.repeat(10_000)
  const pairs = Array.from({ length: 256 }, () => ({ ipAddress: long.slice(0, 255), macAddress: '02' }))
  const hostile = ['\0', '\ud800', long, '', '\u202e'].flatMap((text): Verdict[] => [
    { vm: text, portId: text, reason: 'DeviceOwnerNotAllowed', message: text },
    { vm: text, reason: 'VmNotFound', message: text, portSecurity: { enabled: true, allowedAddressPairs: pairs } },
  ])
  const many = Array.from({ length: 5_000 }, (_, n) => on('one VM', String(n)))
  const writes = changes(object([...hostile, ...many]))
  for (const write of writes) verdictWrite.parse(write)
  assert.ok(writes.every(({ verdicts }) => verdicts.length <= maxVerdictsPerWrite))
  assert.deepEqual(changes(object([...hostile, ...many]), object([...hostile, ...many])), [])
})
