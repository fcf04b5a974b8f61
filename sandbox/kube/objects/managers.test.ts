import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aCluster, aWidget, rejectionOf, specOf, statusOf, widgetDefinition, widgetsId } from '../cluster.fixture.ts'
import type { ApiObject, Fields } from '../json.ts'
import { compare, difference, fieldsOf, isEmpty, parseSet } from './fields.ts'

function widgets() {
  const cluster = aCluster()
  cluster.create('apiextensions.k8s.io/customresourcedefinitions', widgetDefinition())
  const apply = (manager: string, spec: Fields, more: { force?: boolean; metadata?: Fields } = {}) =>
    cluster.patch(widgetsId, 'w', 'apply', aWidget('w', spec, more.metadata), { manager, ...more })
  return { ...cluster, apply }
}

const owners = (object: ApiObject) =>
  Object.fromEntries(
    (object.metadata.managedFields ?? []).map(({ manager, operation, subresource, fieldsV1 }) => [
      `${manager} ${operation}${subresource ? ` ${subresource}` : ''}`,
      fieldsV1,
    ]),
  )

test('a create is owned by the one who made it, what the server filled in included', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const made = cluster.create(widgetsId, aWidget('w', { settings: { a: '1' } }, { labels: { l: '1' } }))
  assert.deepEqual(owners(made), {
    'test Update': {
      'f:metadata': { 'f:labels': { '.': {}, 'f:l': {} } },
      'f:spec': { '.': {}, 'f:color': {}, 'f:settings': { '.': {}, 'f:a': {} }, 'f:size': {} },
    },
  })
})

test('an applier owns exactly what it sent, and the items of keyed lists one by one', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const made = cluster.apply('one', { tags: ['x'], parts: [{ name: 'p', weight: 1 }] })
  assert.deepEqual(owners(made), {
    'one Apply': {
      'f:spec': {
        'f:parts': { 'k:{"name":"p"}': { '.': {}, 'f:name': {}, 'f:weight': {} } },
        'f:size': {},
        'f:tags': {},
      },
    },
  })
})

test('the same again is no write', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const first = cluster.apply('one', { color: 'red' })
  cluster.advance(60)
  assert.equal(cluster.apply('one', { color: 'red' }), first)
})

test('the value of another manager is a conflict that names manager and field', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.apply('one', { color: 'red', tags: ['x'] })
  const one = rejectionOf(() => cluster.apply('two', { color: 'blue' }))
  assert.equal(one.message, 'Apply failed with 1 conflict: conflict with "one": .spec.color')
  assert.deepEqual(one.details?.causes, [
    { reason: 'FieldManagerConflict', message: 'conflict with "one"', field: '.spec.color' },
  ])
  const both = rejectionOf(() => cluster.apply('two', { color: 'blue', tags: ['y'] }))
  assert.equal(both.message, 'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.color\n- .spec.tags')
})

test('force takes the field and leaves its former owner the rest', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.apply('one', { color: 'red', tags: ['x'] })
  const taken = cluster.apply('two', { color: 'blue' }, { force: true })
  assert.equal(specOf(taken)['color'], 'blue')
  assert.deepEqual(owners(taken), {
    'one Apply': { 'f:spec': { 'f:size': {}, 'f:tags': {} } },
    'two Apply': { 'f:spec': { 'f:color': {}, 'f:size': {} } },
  })
})

test('what is no longer sent goes, unless somebody else wants it too', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.apply('one', { settings: { a: '1', b: '2' }, owner: 'x', parts: [{ name: 'p' }, { name: 'q' }] })
  cluster.apply('two', { settings: { b: '2' }, parts: [{ name: 'q', note: 'mine' }] })
  const after = specOf(cluster.apply('one', {}))
  assert.deepEqual(after, { size: 3, color: 'grey', settings: { b: '2' }, parts: [{ name: 'q', note: 'mine' }] })
  assert.equal(specOf(cluster.apply('two', {}))['settings'], undefined)
})

test('what kubectl apply made is taken over by force, and stays when it is not sent', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.create(widgetsId, aWidget('w', { color: 'red', owner: 'x' }), { manager: 'kubectl-client-side-apply' })
  const said = rejectionOf(() => cluster.apply('viola', { color: 'blue' }))
  assert.match(said.message ?? '', /conflict with "kubectl-client-side-apply" using test.example.com\/v1: .spec.color/)
  const taken = cluster.apply('viola', { color: 'blue' }, { force: true })
  assert.deepEqual(specOf(taken), { color: 'blue', owner: 'x', size: 3 })
})

test('status has owners of its own', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.apply('one', {})
  const status = { phase: 'Good', conditions: [{ type: 'Ready', status: 'True' }] }
  const place = { manager: 'controller', subresource: 'status' }
  const written = cluster.patch(widgetsId, 'w', 'merge', { status, spec: { size: 9 } }, place)
  assert.deepEqual(statusOf(written), status)
  assert.equal(specOf(written)['size'], 3)
  assert.deepEqual(owners(written)['controller Update status'], {
    'f:status': {
      '.': {},
      'f:conditions': { '.': {}, 'k:{"type":"Ready"}': { '.': {}, 'f:status': {}, 'f:type': {} } },
      'f:phase': {},
    },
  })
})

test('ownership can be reset, and what was there then belongs to nobody in particular', t => {
  const cluster = widgets()
  t.after(cluster.close)
  cluster.apply('one', { color: 'red' })
  const reset = cluster.patch(widgetsId, 'w', 'merge', { metadata: { managedFields: [{}] } })
  assert.equal(reset.metadata.managedFields, undefined)
  const said = rejectionOf(() => cluster.apply('one', { color: 'blue' }))
  assert.match(said.message ?? '', /conflict with "before-first-apply" using/)
})

test('items keep their order, and new ones find their place', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const names = (object: ApiObject) => (specOf(object)['parts'] as Fields[]).map(part => part['name'])
  cluster.apply('one', { parts: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
  assert.deepEqual(names(cluster.apply('two', { parts: [{ name: 'd' }] })), ['a', 'b', 'c', 'd'])
})

test('an apply needs a manager, no managedFields and a schema that knows its fields', t => {
  const cluster = widgets()
  t.after(cluster.close)
  assert.match(rejectionOf(() => cluster.apply('', {})).message ?? '', /fieldManager: Required value/)
  const owned = { metadata: { managedFields: [] } }
  assert.equal(rejectionOf(() => cluster.apply('one', {}, owned)).message, 'metadata.managedFields must be nil')
  assert.match(rejectionOf(() => cluster.apply('one', { typo: 1 })).message ?? '', /\.spec\.typo: field not declared/)
})

/** Some of: an owner, a colour, tags, settings and parts, with few values, so that managers get in each other's way. */
const someSpec = fc.record(
  {
    color: fc.constantFrom('red', 'blue'),
    tags: fc.constantFrom([], ['x'], ['x', 'y']),
    settings: fc.dictionary(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('1', '2')),
    parts: fc.uniqueArray(
      fc.record(
        { name: fc.constantFrom('p', 'q', 'r'), weight: fc.constantFrom(1, 2), note: fc.constantFrom('n', 'm') },
        { requiredKeys: ['name'] },
      ),
      { selector: part => part.name },
    ),
  },
  { requiredKeys: [] },
)

test('whoever applies gets what it asked for, twice is once, and nobody owns what is not there', t => {
  const cluster = widgets()
  t.after(cluster.close)
  const kind = cluster.kinds.find('test.example.com', 'v1', 'widgets')
  const applies = fc.array(fc.tuple(fc.constantFrom('one', 'two', 'three'), someSpec), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(applies, sequence => {
      if (cluster.has(widgetsId, 'w')) cluster.remove(widgetsId, 'w')
      for (const [manager, spec] of sequence) {
        const after = cluster.apply(manager, spec, { force: true })
        assert.equal(cluster.apply(manager, spec, { force: true }), after)
        const wanted = fieldsOf({ spec: { size: 3, ...spec } }, kind?.version.schema)
        const mine = parseSet((owners(after)[`${manager} Apply`] ?? {}) as Fields)
        assert.ok(isEmpty(difference(wanted, mine)), 'the applier owns what it applied')
        for (const [name, value] of Object.entries(spec)) {
          if (name === 'color' || name === 'tags') assert.deepEqual(specOf(after)[name], value)
        }
        const { changed: there } = compare({}, { spec: after['spec'] }, kind?.version.schema)
        for (const fields of Object.values(owners(after))) {
          assert.ok(isEmpty(difference(parseSet(fields as Fields), there)), 'what is owned is there')
        }
      }
    }),
    { numRuns: 150 },
  )
})
