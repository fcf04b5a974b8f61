import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { aCluster, aWidget, specOf, widgetDefinition, widgetsId } from '../cluster.fixture.ts'
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

/** Few different values, so that managers conflict often. */
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

test('a forced apply sets its fields, is idempotent, and no manager owns a missing field', t => {
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
        const applied = fieldsOf({ spec: { size: 3, ...spec } }, kind?.version.schema)
        const mine = parseSet((owners(after)[`${manager} Apply`] ?? {}) as Fields)
        assert.ok(isEmpty(difference(applied, mine)), 'the manager owns the fields that it applied')
        for (const [name, value] of Object.entries(spec)) {
          if (name === 'color' || name === 'tags') assert.deepEqual(specOf(after)[name], value)
        }
        const { changed: existing } = compare({}, { spec: after['spec'] }, kind?.version.schema)
        for (const fields of Object.values(owners(after))) {
          assert.ok(isEmpty(difference(parseSet(fields as Fields), existing)), 'owned fields exist')
        }
      }
    }),
    { numRuns: 150 },
  )
})
