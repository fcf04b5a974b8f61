import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApiDocument } from '../discovery/openapi.ts'
import { builtinKinds } from './builtin.ts'
import { prune, typeMismatch } from './schema.ts'
import { typeName, typeSchema } from './types.ts'
import { typesTable } from './types-table.ts'

test('every type in the table has a schema', () => {
  const named = [...typesTable.matchAll(/^(\w+)(?: \(atomic\))?: /gm)].map(([, name = '']) => name)
  assert.ok(named.length > 80)
  for (const name of named) assert.match(typeName(typeSchema(name)) ?? '', new RegExp(`\\.${name}$`))
  assert.throws(() => typeSchema('Nothing'), /type Nothing not found/)
})

test('lists have their merge strategy', () => {
  const { containers, tolerations } = typeSchema('PodSpec').properties ?? {}
  assert.deepEqual(containers?.['x-kubernetes-list-map-keys'], ['name'])
  assert.equal(containers?.['x-kubernetes-patch-merge-key'], 'name')
  assert.equal(tolerations?.['x-kubernetes-list-type'], 'atomic')
  const { ports } = typeSchema('Container').properties ?? {}
  assert.deepEqual(ports?.['x-kubernetes-list-map-keys'], ['containerPort', 'protocol'])
  assert.equal(ports?.items?.properties?.['protocol']?.default, 'TCP')
  assert.equal(typeSchema('ObjectMeta').properties?.['finalizers']?.['x-kubernetes-list-type'], 'set')
  assert.equal(typeSchema('JobStatus').properties?.['conditions']?.['x-kubernetes-patch-merge-key'], 'type')
  assert.equal(typeSchema('OwnerReference')['x-kubernetes-map-type'], 'atomic')
  assert.deepEqual(typeSchema('EnvVar').required, ['name'])
})

test('wrong types are reported, and unknown fields are pruned', () => {
  const spec = typeSchema('PodSpec')
  assert.equal(
    typeMismatch({ containers: [{ name: 'a', resources: { limits: { cpu: 1, memory: '1Gi' } } }] }, spec),
    undefined,
  )
  assert.equal(
    typeMismatch({ containers: [{ name: 'a', command: true }] }, spec),
    'json: cannot unmarshal bool into Go struct field containers.command of type slice',
  )
  const unknown: string[] = []
  const value = { affinity: { whatever: 1 }, containers: [{ name: 'a', comand: [] }], hostnetwork: true }
  prune(value, spec, unknown)
  assert.deepEqual(unknown, ['containers[0].comand', 'hostnetwork'])
  assert.deepEqual(value, { affinity: { whatever: 1 }, containers: [{ name: 'a' }] })
})

test('every reference in an OpenAPI document can be resolved', () => {
  for (const group of ['', 'batch', 'rbac.authorization.k8s.io', 'apiextensions.k8s.io', 'coordination.k8s.io']) {
    const document = openApiDocument(builtinKinds, group, 'v1')
    const { schemas } = document?.['components'] as { schemas: Record<string, unknown> }
    const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)]
    assert.ok(references.length > 0)
    for (const [, name = ''] of references) assert.ok(schemas[name], name)
  }
})
