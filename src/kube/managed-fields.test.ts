import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUnmanaged } from './managed-fields.ts'

const nested = { 'f:spec': { 'f:list': { 'k:{"name":"a"}': { '.': {}, 'f:name': {} }, 'v:"x"': {} } } }
/** The order of a kind of the server, and of a CustomResourceDefinition. */
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
  assert.deepEqual(parseUnmanaged(text), JSON.parse(text))
}

test('the managed fields of a kind of the server are left out, and nothing else', () => {
  const managedFields = [entry, { ...entry, subresource: 'status' }]
  const text = JSON.stringify({ object: { metadata: { name: 'a', managedFields }, ...rest } })
  assert.deepEqual(parseUnmanaged(text), { object: { metadata: { name: 'a', managedFields: [] }, ...rest } })
})

test('those of a CustomResourceDefinition too, whose names are sorted', () => {
  const managedFields = [sorted, { ...sorted, subresource: 'status' }]
  const text = JSON.stringify({ metadata: { generation: 1, managedFields, name: 'a' }, ...rest })
  assert.deepEqual(parseUnmanaged(text), { metadata: { generation: 1, managedFields: [], name: 'a' }, ...rest })
})

test('an object that has nothing but its metadata is read', () => {
  const text = JSON.stringify({ metadata: { name: 'a', managedFields: [entry] } })
  assert.deepEqual(parseUnmanaged(text), { metadata: { name: 'a', managedFields: [] } })
})

test('a list is read without those of any item', () => {
  const item = (name: string, managedFields: object[]) => ({ metadata: { name, managedFields }, ...rest })
  const text = JSON.stringify({ items: [item('a', [entry]), item('b', []), item('c', [entry, entry])] })
  assert.deepEqual(parseUnmanaged(text), { items: [item('a', []), item('b', []), item('c', [])] })
})

test('text that only speaks of managed fields stays', () => {
  const said = JSON.stringify({ managedFields: [entry] })
  readsAll({ metadata: { name: 'a', annotations: { 'last-applied-configuration': said } } })
  readsAll({ data: { said }, managedFields: [] })
  readsAll({ properties: { managedFields: { items: [{ manager: 'x' }] } } })
  readsAll({ spec: { managedFields: [{ other: [{}] }] } })
  readsAll({ spec: { managedFields: [1, { manager: 'x' }] } })
})

test('a name that looks like the end of them only costs the cut', () => {
  for (const name of ['v:[{"x":1}],', 'v:{"a":[{"b":1}]}', '}],', '}]}'])
    readsAll({ metadata: { name: 'a', managedFields: [{ ...entry, fieldsV1: { [name]: {} } }] }, ...rest })
})

test('what is no JSON is refused as it was', () => {
  const text = `{"metadata":{"managedFields":[${JSON.stringify(entry)}]},"spec`
  assert.throws(() => parseUnmanaged(text), SyntaxError)
  assert.throws(() => parseUnmanaged('{"type":"ADDED","obj'), SyntaxError)
})
