import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { fieldErrors, longListIn, maxErrors, problem, summaryOf } from './problem.ts'

const configs = z.array(z.object({ interfaces: z.array(z.object({ mtu: z.number('must be a number') })) }))

function errorsOf(value: unknown, at?: string) {
  return fieldErrors(configs.safeParse(value).error ?? assert.fail(), at)
}

test('every invalid field is named by its path, in the notation of Kubernetes', () => {
  const value = [{ interfaces: [{ mtu: 1 }, { mtu: 'x' }] }, { interfaces: [{ mtu: null }] }]
  assert.deepEqual(errorsOf(value), [
    { path: '[0].interfaces[1].mtu', message: 'must be a number' },
    { path: '[1].interfaces[0].mtu', message: 'must be a number' },
  ])
  assert.deepEqual(
    errorsOf(value, 'items').map(({ path }) => path),
    ['items[0].interfaces[1].mtu', 'items[1].interfaces[0].mtu'],
  )
})

test('a field of the document itself has no leading dot, and the document has no path', () => {
  const { error } = z.object({ nodeName: z.string() }).safeParse({})
  assert.deepEqual(
    fieldErrors(error ?? assert.fail()).map(({ path }) => path),
    ['nodeName'],
  )
  assert.deepEqual(
    errorsOf('x').map(({ path }) => path),
    [''],
  )
})

test('a response has at most the first 100 errors', () => {
  const value = [{ interfaces: Array.from({ length: maxErrors + 1 }, () => ({})) }]
  assert.equal(maxErrors, 100)
  assert.deepEqual(errorsOf(value).at(-1)?.path, '[0].interfaces[99].mtu')
})

const lists: Record<string, [value: unknown, found: string | undefined]> = {
  'no list': [{ a: 'text', b: null, c: 1 }, undefined],
  'a list of the maximum length': [[1, 2, 3], undefined],
  'a list that is too long': [[1, 2, 3, 4], 'body: too many entries: 4, at most 3'],
  'a list in a field': [{ a: { b: [1, 2, 3, 4, 5] } }, 'body.a.b: too many entries: 5, at most 3'],
  'a list in a list': [[[], [1], { a: [1, 2, 3, 4] }], 'body[2].a: too many entries: 4, at most 3'],
  'two lists': [{ a: [1], b: [1, 2, 3, 4], c: [1, 2, 3, 4, 5] }, 'body.b: too many entries: 4, at most 3'],
  'a list behind values without entries': [
    { a: null, b: '', c: [1, 2, 3, 4] },
    'body.c: too many entries: 4, at most 3',
  ],
  'a long text': ['x'.repeat(100), undefined],
  null: [null, undefined],
}

for (const [name, [value, found]] of Object.entries(lists))
  test(`the first list that is too long: ${name}`, () => {
    const error = longListIn(value, 3, ['body'])
    assert.equal(error && `${error.path}: ${error.message}`, found)
  })

test('the path of a list in the document itself begins with its key', () => {
  assert.equal(longListIn({ a: [1, 2] }, 1)?.path, 'a')
  assert.equal(longListIn([1, 2], 1)?.path, '')
})

test('the summary has the first five errors, and counts the others', () => {
  const errors = (count: number) =>
    Array.from({ length: count }, (_, index) => ({ path: index === 0 ? '' : `f${index}`, message: `wrong ${index}` }))
  assert.equal(summaryOf([]), '')
  assert.equal(summaryOf(errors(2)), 'wrong 0; f1: wrong 1')
  assert.equal(summaryOf(errors(5)), 'wrong 0; f1: wrong 1; f2: wrong 2; f3: wrong 3; f4: wrong 4')
  assert.equal(summaryOf(errors(7)), 'wrong 0; f1: wrong 1; f2: wrong 2; f3: wrong 3; f4: wrong 4; 2 more')
})

test('a problem has all members of RFC 9457 that clients read', () => {
  const given = { type: 'about:blank', title: 'Bad Request', status: 400, detail: 'mtu: must be a number' }
  assert.deepEqual(problem.parse(given), given)
  const errors = [{ path: 'mtu', message: 'must be a number' }]
  assert.deepEqual(problem.parse({ ...given, errors }), { ...given, errors })
  for (const member of Object.keys(given))
    assert.equal(problem.safeParse({ ...given, [member]: undefined }).success, false, member)
})
