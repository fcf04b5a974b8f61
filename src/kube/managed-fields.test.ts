import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseWithoutManagedFields } from './managed-fields.ts'

const nested = { 'f:spec': { 'f:list': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} }, 'v:"x"': {} } } }
/** The key order of a built-in kind, and of a custom resource. */
const entry = {
  manager: 'a',
  operation: 'Update',
  apiVersion: 'v1',
  time: 't',
  fieldsType: 'FieldsV1',
  fieldsV1: nested,
}
const sorted = {
  apiVersion: 'v1',
  fieldsType: 'FieldsV1',
  fieldsV1: nested,
  manager: 'a',
  operation: 'Update',
  time: 't',
}
const rest = { spec: { items: [{ a: [{}] }], text: '}],"x' }, status: { list: [{ b: 1 }] } }

function readsAll(object: object): void {
  const text = JSON.stringify({ type: 'MODIFIED', object })
  assert.deepEqual(parseWithoutManagedFields(text), JSON.parse(text))
}

test('only the managedFields of a built-in kind are removed', () => {
  const managedFields = [entry, { ...entry, subresource: 'status' }]
  const text = JSON.stringify({ object: { metadata: { name: 'a', managedFields }, ...rest } })
  assert.deepEqual(parseWithoutManagedFields(text), { object: { metadata: { name: 'a', managedFields: [] }, ...rest } })
})

test('the managedFields of a custom resource, with sorted keys, are removed', () => {
  const managedFields = [sorted, { ...sorted, subresource: 'status' }]
  const text = JSON.stringify({ metadata: { generation: 1, managedFields, name: 'a' }, ...rest })
  assert.deepEqual(parseWithoutManagedFields(text), {
    metadata: { generation: 1, managedFields: [], name: 'a' },
    ...rest,
  })
})

test('an object with nothing but metadata is parsed', () => {
  const text = JSON.stringify({ metadata: { name: 'a', managedFields: [entry] } })
  assert.deepEqual(parseWithoutManagedFields(text), { metadata: { name: 'a', managedFields: [] } })
})

test('the managedFields of all items of a list are removed', () => {
  const item = (name: string, managedFields: object[]) => ({ metadata: { name, managedFields }, ...rest })
  const text = JSON.stringify({ items: [item('a', [entry]), item('b', []), item('c', [entry, entry])] })
  assert.deepEqual(parseWithoutManagedFields(text), { items: [item('a', []), item('b', []), item('c', [])] })
})

test('text that mentions managedFields stays', () => {
  const text = JSON.stringify({ managedFields: [entry] })
  readsAll({ metadata: { name: 'a', annotations: { 'last-applied-configuration': text } } })
  readsAll({ data: { text }, managedFields: [] })
  readsAll({ properties: { managedFields: { items: [{ manager: 'x' }] } } })
  readsAll({ spec: { managedFields: [{ other: [{}] }] } })
  readsAll({ spec: { managedFields: [1, { manager: 'x' }] } })
})

test('a name that looks like the end leads to a complete parse', () => {
  for (const name of ['v:[{"x":1}],', 'v:{"a":[{"b":1}]}', '}],', '}]}'])
    readsAll({ metadata: { name: 'a', managedFields: [{ ...entry, fieldsV1: { [name]: {} } }] }, ...rest })
})

test('invalid JSON is a SyntaxError', () => {
  const text = `{"metadata":{"managedFields":[${JSON.stringify(entry)}]},"spec`
  assert.throws(() => parseWithoutManagedFields(text), SyntaxError)
  assert.throws(() => parseWithoutManagedFields('{"type":"ADDED","obj'), SyntaxError)
})
