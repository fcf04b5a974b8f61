import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  aCluster,
  aWidget,
  flushImmediates,
  rejectionOf,
  specOf,
  statusOf,
  widgetDefinition,
  widgetsId,
} from '../cluster.fixture.ts'

const definitions = 'apiextensions.k8s.io/customresourcedefinitions'

function widgets() {
  const cluster = aCluster()
  cluster.create(definitions, widgetDefinition())
  return cluster
}

test('a new object gets a uid, a time, a version and its defaults', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const { metadata, spec } = cluster.create(widgetsId, aWidget('w'))
  assert.match(metadata.uid ?? '', /^[0-9a-f-]{36}$/)
  assert.equal(metadata.creationTimestamp, '2026-01-01T00:00:00Z')
  assert.equal(metadata.generation, 1)
  assert.equal(metadata.namespace, 'default')
  assert.deepEqual(spec, { size: 3, color: 'grey' })
})

test('a generated name has five characters behind it', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const { metadata } = cluster.create(widgetsId, { metadata: { generateName: 'w-' }, spec: { size: 1 } })
  assert.match(metadata.name, /^w-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
})

const refused: Record<string, [body: Record<string, unknown>, code: number, said: RegExp]> = {
  'a value out of bounds': [
    aWidget('w', { size: 11 }),
    422,
    /^Widget\.test\.example\.com "w" is invalid: spec\.size: Invalid value: 11: spec\.size in body should be less than or equal to 10$/,
  ],
  'a broken rule': [aWidget('w', { size: 1, tags: ['a', 'b'] }), 422, /spec: Invalid value: more tags than size$/],
  'a name that is none': [aWidget('W_1'), 422, /metadata\.name: Invalid value: "W_1": a lowercase RFC 1123 subdomain/],
  'no name': [
    { metadata: {}, spec: { size: 1 } },
    422,
    /metadata\.name: Required value: name or generateName is required/,
  ],
  'a label that is none': [
    aWidget('w', {}, { labels: { a: 'b c' } }),
    422,
    /metadata\.labels: Invalid value: "b c": a valid label/,
  ],
  'an owner without a uid': [
    aWidget('w', {}, { ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }] }),
    422,
    /metadata\.ownerReferences\[0\]\.uid: Invalid value: "": must not be empty/,
  ],
  'another kind': [{ ...aWidget('w'), kind: 'Gadget' }, 422, /kind: Invalid value: "Gadget": must be Widget/],
  'another version': [
    { ...aWidget('w'), apiVersion: 'test.example.com/v9' },
    400,
    /does not match the expected API version/,
  ],
  'another namespace': [
    aWidget('w', {}, { namespace: 'other' }),
    400,
    /namespace of the provided object does not match/,
  ],
  'a version of its own': [aWidget('w', {}, { resourceVersion: '5' }), 500, /resourceVersion should not be set/],
}

for (const [name, [body, code, said]] of Object.entries(refused)) {
  test(`refused: ${name}`, t => {
    const cluster = widgets()
    t.after(cluster.close)
    const status = rejectionOf(() => cluster.create(widgetsId, body))
    assert.equal(status.code, code)
    assert.match(status.message ?? '', said)
  })
}

test('the causes of a refusal name each field', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const status = rejectionOf(() => cluster.create(widgetsId, aWidget('w', { size: 0, color: 'very long indeed' })))
  assert.equal(status.reason, 'Invalid')
  assert.deepEqual(
    status.details?.causes?.map(cause => `${cause.field} ${cause.reason}`),
    ['spec.size FieldValueInvalid', 'spec.color FieldValueTooLong', '<nil> FieldValueInvalid'],
  )
})

test('a namespace must be there, and must not be going', async t => {
  const cluster = widgets()
  t.after(cluster.close)
  const nowhere = rejectionOf(() => cluster.create(widgetsId, aWidget('w'), { namespace: 'nowhere' }))
  assert.equal(nowhere.message, 'namespaces "nowhere" not found')
  cluster.create('/namespaces', { metadata: { name: 'going' } })
  cluster.create(widgetsId, aWidget('held', {}, { finalizers: ['x.io/y'] }), { namespace: 'going' })
  cluster.remove('/namespaces', 'going')
  const going = rejectionOf(() => cluster.create(widgetsId, aWidget('w'), { namespace: 'going' }))
  assert.equal(going.code, 403)
  assert.equal(going.details?.causes?.[0]?.reason, 'NamespaceTerminating')
  await flushImmediates()
})

test('a stale update is a conflict, and one without a version is refused', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const first = cluster.create(widgetsId, aWidget('w'))
  cluster.update(widgetsId, { ...first, spec: { size: 4 } })
  const stale = rejectionOf(() => cluster.update(widgetsId, { ...first, spec: { size: 5 } }))
  assert.equal(stale.reason, 'Conflict')
  assert.match(stale.message ?? '', /the object has been modified; please apply your changes to the latest version/)
  const unversioned = { ...first, metadata: { name: 'w' } }
  assert.match(rejectionOf(() => cluster.update(widgetsId, unversioned)).message ?? '', /metadata\.resourceVersion/)
})

test('the generation rises with the spec and with the deletion only', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.create(widgetsId, aWidget('w', {}, { finalizers: ['x.io/y'] }))
  const generation = () => cluster.get(widgetsId, 'w').metadata.generation
  cluster.patch(widgetsId, 'w', 'merge', { metadata: { labels: { a: 'b' } } })
  cluster.patch(widgetsId, 'w', 'merge', { status: { phase: 'x' } }, { subresource: 'status' })
  assert.equal(generation(), 1)
  cluster.patch(widgetsId, 'w', 'merge', { spec: { size: 5 } })
  assert.equal(generation(), 2)
  cluster.remove(widgetsId, 'w')
  assert.equal(generation(), 3)
})

test('status is written by its own door only', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const made = cluster.create(widgetsId, { ...aWidget('w'), status: { phase: 'No' } })
  assert.equal(made['status'], undefined)
  cluster.patch(widgetsId, 'w', 'merge', { status: { phase: 'Yes' }, spec: { size: 9 } }, { subresource: 'status' })
  cluster.patch(widgetsId, 'w', 'merge', { status: { phase: 'No' } })
  const now = cluster.get(widgetsId, 'w')
  assert.deepEqual([specOf(now)['size'], statusOf(now)['phase']], [3, 'Yes'])
})

test('a write that changes nothing is no write', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const first = cluster.create(widgetsId, aWidget('w'))
  cluster.advance(100)
  assert.equal(cluster.update(widgetsId, first), first)
  assert.equal(cluster.patch(widgetsId, 'w', 'merge', { spec: { size: 3 } }), first)
})

test('a dry run tells and does nothing', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const before = cluster.store.version()
  assert.equal(cluster.create(widgetsId, aWidget('w'), { dryRun: true }).metadata.name, 'w')
  assert.equal(cluster.store.version(), before)
  assert.equal(cluster.has(widgetsId, 'w'), false)
})

test('unknown fields are dropped, told or refused, as asked', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const told: string[] = []
  const kind = cluster.kinds.find('test.example.com', 'v1', 'widgets')
  assert.ok(kind)
  const target = { ...kind, namespace: 'default', name: '', subresource: undefined }
  const body = { ...aWidget('w', { typo: 1 }), kind: 'Widget' }
  const made = cluster.verbs.create(target, body, { manager: 'test', warn: text => told.push(text) })
  assert.deepEqual(told, ['unknown field "spec.typo"'])
  assert.equal(specOf(made)['typo'], undefined)
  const strict = rejectionOf(() => cluster.verbs.create(target, body, { manager: 'test', fieldValidation: 'Strict' }))
  assert.match(strict.message ?? '', /strict decoding error: unknown field "spec\.typo"/)
})

test('a finalizer holds what is deleted, and none can be added then', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.create(widgetsId, aWidget('w', {}, { finalizers: ['x.io/y'] }))
  assert.equal(cluster.remove(widgetsId, 'w').kind, 'Widget')
  assert.equal(cluster.get(widgetsId, 'w').metadata.deletionTimestamp, '2026-01-01T00:00:00Z')
  const more = { metadata: { finalizers: ['x.io/y', 'x.io/z'] } }
  const said = rejectionOf(() => cluster.patch(widgetsId, 'w', 'merge', more))
  assert.match(said.message ?? '', /no new finalizers can be added if the object is being deleted/)
  cluster.patch(widgetsId, 'w', 'merge', { metadata: { finalizers: null } })
  assert.equal(cluster.has(widgetsId, 'w'), false)
})

test('a deletion can be bound to a uid or a version', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const { metadata } = cluster.create(widgetsId, aWidget('w'))
  assert.match(
    rejectionOf(() => cluster.remove(widgetsId, 'w', { uid: 'x' })).message ?? '',
    /UID in the precondition \(x\)/,
  )
  assert.equal(rejectionOf(() => cluster.remove(widgetsId, 'w', { resourceVersion: '1' })).code, 409)
  const done = cluster.remove(widgetsId, 'w', { uid: metadata.uid ?? '' })
  assert.deepEqual(done, {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: { name: 'w', group: 'test.example.com', kind: 'widgets', uid: metadata.uid },
  })
})

test('a Pod on a node ends in grace, any other at once', t => {
  const cluster = aCluster()
  t.after(cluster.close)
  const spec = { containers: [{ name: 'c', image: 'x' }] }
  cluster.create('/pods', { metadata: { name: 'bound' }, spec: { ...spec, nodeName: 'n1' } })
  cluster.create('/pods', { metadata: { name: 'free' }, spec })
  cluster.remove('/pods', 'free')
  assert.equal(cluster.has('/pods', 'free'), false)
  cluster.remove('/pods', 'bound')
  const { metadata } = cluster.get('/pods', 'bound')
  assert.deepEqual([metadata.deletionTimestamp, metadata.deletionGracePeriodSeconds], ['2026-01-01T00:00:30Z', 30])
  cluster.remove('/pods', 'bound', { gracePeriodSeconds: 0 })
  assert.equal(cluster.has('/pods', 'bound'), false)
})

test('a definition is served as soon as it is there, in all its versions, and refused when it is not structural', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const { status } = cluster.get(definitions, 'widgets.test.example.com')
  const conditions = (status as { conditions: { type: string; status: string }[] }).conditions
  assert.deepEqual(
    conditions.map(one => `${one.type}=${one.status}`),
    ['NamesAccepted=True', 'Established=True'],
  )
  assert.ok(cluster.kinds.find('test.example.com', 'v1alpha1', 'widgets'))
  const untyped = widgetDefinition({ type: 'object', properties: { spec: { properties: {} } } })
  assert.match(
    rejectionOf(() => cluster.patch(definitions, 'widgets.test.example.com', 'merge', untyped)).message ?? '',
    /properties\[spec\]\.type: Required value/,
  )
  const noCel = widgetDefinition({ type: 'object', 'x-kubernetes-validations': [{ rule: 'self ==' }] })
  assert.match(
    rejectionOf(() => cluster.patch(definitions, 'widgets.test.example.com', 'merge', noCel)).message ?? '',
    /x-kubernetes-validations/,
  )
})

test('a Secret keeps texts as base64', t => {
  const cluster = aCluster()
  t.after(cluster.close)
  const made = cluster.create('/secrets', { metadata: { name: 's' }, stringData: { a: 'b' } })
  assert.deepEqual([made['data'], made['type'], made['stringData']], [{ a: 'Yg==' }, 'Opaque', undefined])
  const wrong = rejectionOf(() => cluster.create('/secrets', { metadata: { name: 't' }, data: { a: '!' } }))
  assert.match(wrong.message ?? '', /illegal base64 data at input byte 0/)
})
