import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSameMachine, spellingsOf } from './machine.ts'

const pairs: Record<string, [a: string, b: string, same: boolean]> = {
  'equal ids': ['6f1c2a10-0001-4aaa-8bbb-000000000001', '6f1c2a10-0001-4aaa-8bbb-000000000001', true],
  'ids in another case': ['6F1C2A10-0001-4AAA-8BBB-000000000001', '6f1c2a10-0001-4aaa-8bbb-000000000001', true],
  'ids in the byte order of older firmware': [
    '6f1c2a10-0001-4aaa-8bbb-000000000001',
    '102A1C6F-0100-AA4A-8BBB-000000000001',
    true,
  ],
  'ids that differ in their last group': [
    '6f1c2a10-0001-4aaa-8bbb-000000000001',
    '6f1c2a10-0001-4aaa-8bbb-000000000002',
    false,
  ],
  'ids of another kind': ['i-0123456789abcdef0', 'i-0123456789abcdef0', true],
  'no id': ['', '', false],
}

for (const [name, [a, b, same]] of Object.entries(pairs))
  test(`${name} are ${same ? 'one machine' : 'two machines'}`, () => {
    assert.equal(isSameMachine(a, b), same)
    assert.equal(isSameMachine(b, a), same)
  })

const spellings: Record<string, string[]> = {
  ' 6F1C2A10-0001-4AAA-8BBB-000000000001\n': [
    '6f1c2a10-0001-4aaa-8bbb-000000000001',
    '102a1c6f-0100-aa4a-8bbb-000000000001',
  ],
  '11111111-2222-3333-8bbb-000000000001': ['11111111-2222-3333-8bbb-000000000001'],
  'I-0123456789abcdef0': ['i-0123456789abcdef0'],
  'x6f1c2a10-0001-4aaa-8bbb-000000000001': ['x6f1c2a10-0001-4aaa-8bbb-000000000001'],
  '6f1c2a10-0001-4aaa-': ['6f1c2a10-0001-4aaa-'],
  '6f1c2a10-0001-4aaa-\nx': ['6f1c2a10-0001-4aaa-\nx'],
  '6f1c2a10-0001-4aaa-8\nx': ['6f1c2a10-0001-4aaa-8\nx'],
  ' ': [],
}

for (const [uuid, expected] of Object.entries(spellings))
  test(`${JSON.stringify(uuid)} has ${expected.length} forms`, () => assert.deepEqual(spellingsOf(uuid), expected))
