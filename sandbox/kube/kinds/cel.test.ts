import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ruleErrors } from './cel.ts'
import type { Rule, Schema } from './schema.ts'

const integer: Schema = { type: 'integer' }
const text: Schema = { type: 'string' }
const items: Schema = {
  type: 'object',
  properties: {
    id: integer,
    name: text,
    mac: text,
    at: { type: 'string', format: 'date-time' },
    'dash-ed': text,
    namespace: text,
  },
}
const list = (...rules: Rule[]): Schema => ({ type: 'array', items, 'x-kubernetes-validations': rules })

const cases: Record<string, [rule: string, value: unknown[], holds: boolean]> = {
  'has() detects an absent field': ['self.all(a, !has(a.mac) || a.mac != "")', [{ id: 1 }], true],
  'isIP and isCIDR are available': [
    'isIP("10.0.0.1") && !isIP("10.0.0") && isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0")',
    [],
    true,
  ],
  'a date-time is a timestamp': [
    'self.all(a, a.at < timestamp("2026-01-02T00:00:00Z"))',
    [{ at: '2026-01-01T00:00:00Z' }],
    true,
  ],
  'dashes in field names are escaped': ['self.all(a, a.dash__dash__ed == "x")', [{ 'dash-ed': 'x' }], true],
  'reserved field names are escaped': ['self.all(a, a.__namespace__ == "x")', [{ namespace: 'x' }], true],
  'sum and isSorted are available': [
    'self.map(a, a.id).sum() == 3 && self.map(a, a.id).isSorted()',
    [{ id: 1 }, { id: 2 }],
    true,
  ],
  'optional fields support orValue': ['self.all(a, a.?name.orValue("none") == "none")', [{ id: 1 }], true],
}

for (const [name, [rule, value, holds]] of Object.entries(cases)) {
  test(name, () => {
    const errors = ruleErrors(value, list({ rule, message: 'no' }))
    assert.deepEqual(
      errors.map(error => error.message),
      holds ? [] : ['Invalid value: no'],
    )
  })
}

test('an error without a message contains the rule', () => {
  const [error] = ruleErrors([], list({ rule: 'size(self) > 0' }))
  assert.equal(error?.message, 'Invalid value: failed rule: size(self) > 0')
})

test('a rule can set fieldPath and reason', () => {
  const rule = { rule: 'false', message: 'never', fieldPath: '.inner', reason: 'FieldValueForbidden' }
  const schema: Schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-validations': [rule] } },
  }
  assert.deepEqual(ruleErrors({ spec: {} }, schema), [
    { field: 'spec.inner', reason: 'FieldValueForbidden', message: 'Forbidden: never' },
  ])
})

test('an evaluation error contains the rule', () => {
  const [error] = ruleErrors([{ id: 1 }], list({ rule: 'self[0].name == "x"' }))
  assert.match(error?.message ?? '', /No such key: name evaluating rule: self\[0\]\.name == "x"/)
})

test('an unchanged value is not validated again', () => {
  const schema = list({ rule: 'false', message: 'no' })
  assert.deepEqual(ruleErrors([{ id: 1 }], schema, [{ id: 1 }]), [])
  assert.equal(ruleErrors([{ id: 2 }], schema, [{ id: 1 }]).length, 1)
})
