import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseShown } from './shown.ts'

test('no name that is shown has marks of the writing direction or other invisible characters', () => {
  const name = 'worker\u202egnp.exe\u2066\u200b\u2028'
  assert.deepEqual(parseShown(JSON.stringify([{ name }, { name: '노드 <b>' }])), [
    { name: 'worker\ufffdgnp.exe\ufffd\ufffd\ufffd' },
    { name: '노드 <b>' },
  ])
})
