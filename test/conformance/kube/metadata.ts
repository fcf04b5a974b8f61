/** Metadata of another type than it has: whoever sends it is told which field, by every verb in its own way. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { secrets } from '../../../src/kube/resources.ts'
import type { KubeObject, Resource } from '../../../src/kube/types.ts'
import { aNodeConfig, type Place, refusal } from './place.ts'

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'b' }

/** What is sent, and what the server says that it wants there. */
const mistyped: Record<string, [values: unknown[], wanted: string]> = {
  name: [[true, 7, ['a'], { a: 1 }], 'string'],
  namespace: [[true, 7, ['a'], {}], 'string'],
  generateName: [[true, 7], 'string'],
  labels: [[true, 'x', [], ['a']], 'map'],
  'labels.a': [[1, true, ['x'], {}], 'string'],
  annotations: [[true, 'x', ['a']], 'map'],
  'annotations.a': [[1, true], 'string'],
  finalizers: [[true, 'x', { a: 1 }], 'list'],
  ownerReferences: [[true, 'x', {}], 'list'],
  uid: [[true, 1], 'string'],
  resourceVersion: [[true, 1], 'string'],
  generation: [['one', true], 'numeric'],
  managedFields: [[true, 'x', {}], 'list'],
}

const kinds: Record<string, [resource: Resource, rest: (place: Place) => object]> = {
  'our kinds': [nodeConfigs as Resource, place => aNodeConfig(place, 'any')],
  'built-in kinds': [secrets as Resource, () => ({ apiVersion: 'v1', kind: 'Secret' })],
}

function metadataWith(path: string, value: unknown): Record<string, unknown> {
  const [field = '', key] = path.split('.')
  return { [field]: key === undefined ? value : { [key]: value } }
}

export function metadataCases(place: () => Place): void {
  for (const [what, [resource, restOf]] of Object.entries(kinds)) {
    const objectWith = (metadata: unknown) => ({ ...restOf(place()), metadata })
    const create = (metadata: unknown) =>
      place().kube.raw('POST', collectionPath(resource, place().namespace), objectWith(metadata))

    /** An object, where it is, and how it is changed. */
    const settled = async () => {
      const { kube, namespace, name } = place()
      const key = { namespace, name: name() }
      const made = (await create({ name: key.name })).body as KubeObject
      const path = objectPath(resource, key)
      return {
        replace: (metadata: object) => kube.raw('PUT', path, { ...made, metadata: { ...made.metadata, ...metadata } }),
        merge: (metadata: object) =>
          kube.raw('PATCH', path, { metadata }, { contentType: 'application/merge-patch+json' }),
        apply: (metadata: object) =>
          kube.raw('PATCH', `${path}?fieldManager=suite&force=true`, objectWith({ name: key.name, ...metadata }), {
            contentType: 'application/apply-patch+yaml',
          }),
      }
    }

    test(`${what}: metadata of another type is refused with its field, whatever the verb`, async () => {
      const { replace, merge, apply } = await settled()
      for (const [path, [values, wanted]] of Object.entries(mistyped)) {
        const [field] = path.split('.')
        for (const value of values) {
          const wrong = metadataWith(path, value)
          const at = `${what} ${path} ${JSON.stringify(value)}`
          for (const write of [() => create({ name: place().name(), ...wrong }), () => replace(wrong)]) {
            const { status, reason, message } = await refusal(write())
            assert.deepEqual([status, reason], [400, 'BadRequest'], at)
            assert.match(message, / cannot be handled as a \w+: json: cannot unmarshal \w+ into Go struct field /, at)
            assert.match(message, new RegExp(`\\.${field}(\\.a)? of type `), at)
          }
          const patched = await refusal(merge(wrong))
          assert.deepEqual([patched.status, patched.reason], [422, 'Invalid'], at)
          assert.match(patched.message, /patch: Invalid value: .*json: cannot unmarshal/s, at)
          const applied = await refusal(apply(wrong))
          assert.equal(applied.status, 500, at)
          assert.match(applied.message, new RegExp(`\\.metadata\\.${path}: expected ${wanted}`), at)
        }
      }
    })

    test(`${what}: metadata that is no record, and lists of something else, are refused`, async () => {
      for (const metadata of [true, 'x', [], 7]) assert.equal((await refusal(create(metadata))).status, 400)
      const { replace, apply } = await settled()
      for (const wrong of [
        { finalizers: [1] },
        { ownerReferences: [1] },
        { ownerReferences: ['a'] },
        { ownerReferences: [{ ...owner, uid: 1 }] },
        { ownerReferences: [{ ...owner, controller: 'yes' }] },
        { managedFields: [1] },
      ]) {
        const at = JSON.stringify(wrong)
        assert.equal((await refusal(create({ name: place().name(), ...wrong }))).status, 400, at)
        assert.equal((await refusal(replace(wrong))).status, 400, at)
        assert.equal((await refusal(apply(wrong))).status, 500, at)
      }
    })

    test(`${what}: null is nothing, of a label the empty text; a name must be told`, async () => {
      const { namespace, name } = place()
      const bare = { namespace: null, labels: null, annotations: { a: null }, finalizers: null, ownerReferences: null }
      const made = (await create({ name: name(), ...bare })).body as KubeObject
      assert.equal(made.metadata.namespace, namespace)
      assert.deepEqual(made.metadata.annotations, { a: '' })
      for (const metadata of [null, {}, { name: null }, { name: '' }])
        assert.match((await refusal(create(metadata))).message, /metadata\.name: Required value: name or generateName/)
      const { replace, merge, apply } = await settled()
      for (const write of [replace, merge, apply]) {
        const { status, message } = await refusal(write({ name: null }))
        assert.equal(status, 400)
        assert.match(message, /based on URL\) was undeterminable: name must be provided/)
      }
    })

    test(`${what}: a finalizer has a name`, async () => {
      const { merge } = await settled()
      for (const finalizers of [['a b'], [''], [null]]) {
        for (const write of [() => create({ name: place().name(), finalizers }), () => merge({ finalizers })]) {
          const { status, message } = await refusal(write())
          assert.equal(status, 422)
          assert.match(message, /metadata\.finalizers: Invalid value: .*name part must consist of alphanumeric/)
        }
      }
    })
  }

  test('only of built-in kinds a finalizer must have a domain', async () => {
    const { kube, namespace, name } = place()
    const finalizers = ['nodomain']
    const config = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: name(), finalizers } }
    const refused = await refusal(kube.create(secrets, config, { dryRun: true }))
    assert.match(refused.message, /name is neither a standard finalizer name nor is it fully qualified/)
    const ours = aNodeConfig(place(), name())
    await kube.create(nodeConfigs, { ...ours, metadata: { ...ours.metadata, finalizers } }, { dryRun: true })
  })
}
