import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readyOf } from './object.ts'

test('the Ready condition is found by its type, and is absent before the first status', () => {
  const ready = { type: 'Ready', status: 'True' }
  assert.equal(readyOf({ status: { conditions: [{ type: 'Progressing', status: 'False' }, ready] } }), ready)
  assert.equal(readyOf({ status: { conditions: [{ type: 'Progressing', status: 'False' }] } }), undefined)
  assert.equal(readyOf({ status: {} }), undefined)
  assert.equal(readyOf({}), undefined)
})
