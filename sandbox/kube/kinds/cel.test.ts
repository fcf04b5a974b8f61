import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile, ruleErrors } from './cel.ts'
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
  'unique ids hold': ['self.all(a, self.exists_one(b, b.id == a.id))', [{ id: 1 }, { id: 2 }], true],
  'the same id twice does not': ['self.all(a, self.exists_one(b, b.id == a.id))', [{ id: 1 }, { id: 1 }], false],
  'a name is compared with a number': [
    'self.all(a, int(a.name.substring(8)) == a.id)',
    [{ id: 3, name: 'multinic3' }],
    true,
  ],
  'an absent field is told by has': ['self.all(a, !has(a.mac) || a.mac != "")', [{ id: 1 }], true],
  'case can be folded': ['self.all(a, a.mac.lowerAscii() == "fa")', [{ mac: 'FA' }], true],
  'durations are compared': ['duration("20s") > duration("0s")', [], true],
  'a zero duration is not above zero': ['duration("0s") > duration("0s")', [], false],
  'addresses are known': [
    'isIP("10.0.0.1") && !isIP("10.0.0") && isCIDR("10.0.0.0/8") && !isCIDR("10.0.0.0")',
    [],
    true,
  ],
  'a time is a timestamp': [
    'self.all(a, a.at < timestamp("2026-01-02T00:00:00Z"))',
    [{ at: '2026-01-01T00:00:00Z' }],
    true,
  ],
  'dashes in names are written out': ['self.all(a, a.dash__dash__ed == "x")', [{ 'dash-ed': 'x' }], true],
  'reserved names are written in underscores': ['self.all(a, a.__namespace__ == "x")', [{ namespace: 'x' }], true],
  'lists can be summed and sorted': [
    'self.map(a, a.id).sum() == 3 && self.map(a, a.id).isSorted()',
    [{ id: 1 }, { id: 2 }],
    true,
  ],
  'optional fields have a value to fall back on': ['self.all(a, a.?name.orValue("none") == "none")', [{ id: 1 }], true],
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

const immutable: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: { name: { ...text, 'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'for life' }] } },
    },
  },
}

test('a rule about change counts only when there was something before', () => {
  const named = (name: string) => ({ spec: { name } })
  assert.deepEqual(ruleErrors(named('a'), immutable), [])
  assert.deepEqual(ruleErrors(named('a'), immutable, named('a')), [])
  const [error] = ruleErrors(named('b'), immutable, named('a'))
  assert.deepEqual(error, { field: 'spec.name', reason: 'FieldValueInvalid', message: 'Invalid value: "b": for life' })
  assert.deepEqual(ruleErrors(named('b'), immutable, { spec: {} }), [])
})

test('a rule without a message speaks for itself', () => {
  const [error] = ruleErrors([], list({ rule: 'size(self) > 0' }))
  assert.equal(error?.message, 'Invalid value: failed rule: size(self) > 0')
})

test('a rule can name another field and another reason', () => {
  const rule = { rule: 'false', message: 'never', fieldPath: '.inner', reason: 'FieldValueForbidden' }
  const schema: Schema = {
    type: 'object',
    properties: { spec: { type: 'object', 'x-kubernetes-validations': [rule] } },
  }
  assert.deepEqual(ruleErrors({ spec: {} }, schema), [
    { field: 'spec.inner', reason: 'FieldValueForbidden', message: 'Forbidden: never' },
  ])
})

test('a rule that cannot be evaluated is an error that names it', () => {
  const [error] = ruleErrors([{ id: 1 }], list({ rule: 'self[0].name == "x"' }))
  assert.match(error?.message ?? '', /No such key: name evaluating rule: self\[0\]\.name == "x"/)
})

test('an unchanged value is not judged again', () => {
  const schema = list({ rule: 'false', message: 'no' })
  assert.deepEqual(ruleErrors([{ id: 1 }], schema, [{ id: 1 }]), [])
  assert.equal(ruleErrors([{ id: 2 }], schema, [{ id: 1 }]).length, 1)
})

test('what is no CEL is told when it is posted', () => {
  assert.throws(() => compile(list({ rule: 'self ===' })))
})
