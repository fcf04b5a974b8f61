import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crdOf, kinds } from './crd.ts'
import { nodeConfigAnnotations, nodeConfigGroup } from './node-config.ts'
import { openstackConfigAnnotations } from './openstack-config.ts'

type Json = { [key: string]: Json } | Json[] | string | number | boolean

/** Every node of a schema, with its path. */
function* walk(value: Json, path = ''): Generator<[string, { [key: string]: Json }]> {
  if (Array.isArray(value)) for (const [i, item] of value.entries()) yield* walk(item, `${path}[${i}]`)
  else if (typeof value === 'object') {
    yield [path, value]
    for (const [key, item] of Object.entries(value)) yield* walk(item, `${path}.${key}`)
  }
}

for (const kind of kinds) {
  const crd = JSON.parse(JSON.stringify(crdOf(kind)))
  test(`the schema of ${kind.kind} is structural and bounded`, () => {
    for (const version of crd.spec.versions) {
      const schema = version.schema.openAPIV3Schema.properties
      for (const [path, node] of [...walk(schema.spec, 'spec'), ...walk(schema.status, 'status')]) {
        for (const key of ['anyOf', 'oneOf', '$ref', '$schema', 'const'])
          assert.ok(!(key in node), `${path} has ${key}`)
        if (node['properties'])
          assert.ok(!('additionalProperties' in node), `${path} has additionalProperties beside properties`)
        // The CEL cost estimate refuses rules over what has no bound.
        if (node['type'] === 'array') assert.ok('maxItems' in node, `${path} has no maxItems`)
        if (node['type'] === 'string' && !('enum' in node) && node['format'] !== 'date-time')
          assert.ok('maxLength' in node, `${path} has no maxLength`)
      }
    }
  })

  test(`${kind.kind} stores one version, serves all and shows its columns`, () => {
    assert.deepEqual(
      crd.spec.versions.map(
        (version: { name: string; served: boolean; storage: boolean }) =>
          `${version.name} ${version.served} ${version.storage}`,
      ),
      kind.versions.map((name, index) => `${name} true ${index === 0}`),
    )
    assert.equal(crd.metadata.name, `${kind.plural}.${kind.group}`)
    assert.equal(crd.spec.versions[0].additionalPrinterColumns.at(-1).name, 'Age')
  })
}

test('what users type still finds the kinds', () => {
  assert.deepEqual(
    kinds.map(
      ({ plural, group, shortNames, versions }) => `${plural}.${group} ${shortNames.join(' ')} ${versions.join(' ')}`,
    ),
    [
      'multinicnodeconfigs.multinic.io mnnc v1 v1alpha1',
      'multinicbizconfigs.multinic.io mnbc multinicclusterconfig multinicclusterconfigs v1',
      'openstackconfigs.multinic.example.com osc v1alpha1',
    ],
  )
})

test('experience Low: all annotations are in one API group', () => {
  const names = [...Object.values(nodeConfigAnnotations), ...Object.values(openstackConfigAnnotations)]
  assert.deepEqual([...new Set(names.map(name => name.split('/')[0]))], [nodeConfigGroup])
})
