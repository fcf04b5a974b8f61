/** Validation of metadata: each verb rejects fields of the wrong type and names the field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { secrets } from '../../../src/kube/resources.ts'
import type { KubeObject, Resource } from '../../../src/kube/types.ts'
import { aNodeConfig, type KubeContext, rejectedWithMetadata, rejection } from './context.ts'

const owner = { apiVersion: 'v1', kind: 'Pod', name: 'a', uid: 'b' }

/** Values of the wrong type, and the type that the server expects. */
const wrongTypes: Record<string, [values: unknown[], expected: string]> = {
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

const kinds: Record<string, [resource: Resource, rest: (context: KubeContext) => object]> = {
  'custom resources': [nodeConfigs as Resource, context => aNodeConfig(context, 'any')],
  'built-in kinds': [secrets as Resource, () => ({ apiVersion: 'v1', kind: 'Secret' })],
}

function metadataWith(path: string, value: unknown): Record<string, unknown> {
  const [field = '', key] = path.split('.')
  return { [field]: key === undefined ? value : { [key]: value } }
}

export function metadataCases(context: () => KubeContext): void {
  for (const [what, [resource, restOf]] of Object.entries(kinds)) {
    const objectWith = (metadata: unknown) => ({ ...restOf(context()), metadata })
    const create = (metadata: unknown) =>
      context().kube.raw('POST', collectionPath(resource, context().namespace), objectWith(metadata))

    /** Creates an object and returns functions that change it. */
    const createObject = async () => {
      const { kube, namespace, name } = context()
      const key = { namespace, name: name() }
      const created = (await create({ name: key.name })).body as KubeObject
      const path = objectPath(resource, key)
      return {
        replace: (metadata: object) =>
          kube.raw('PUT', path, { ...created, metadata: { ...created.metadata, ...metadata } }),
        merge: (metadata: object) =>
          kube.raw('PATCH', path, { metadata }, { contentType: 'application/merge-patch+json' }),
        apply: (metadata: object) =>
          kube.raw('PATCH', `${path}?fieldManager=suite&force=true`, objectWith({ name: key.name, ...metadata }), {
            contentType: 'application/apply-patch+yaml',
          }),
      }
    }

    test(`${what}: every verb rejects metadata of the wrong type and names the field`, async () => {
      const { replace, merge, apply } = await createObject()
      for (const [path, [values, expected]] of Object.entries(wrongTypes)) {
        const [field] = path.split('.')
        for (const value of values) {
          const wrong = metadataWith(path, value)
          const at = `${what} ${path} ${JSON.stringify(value)}`
          for (const write of [() => create({ name: context().name(), ...wrong }), () => replace(wrong)]) {
            const { status, reason, message } = await rejection(write())
            assert.deepEqual([status, reason], [400, 'BadRequest'], at)
            assert.match(message, / cannot be handled as a \w+: json: cannot unmarshal \w+ into Go struct field /, at)
            assert.match(message, new RegExp(`\\.${field}(\\.a)? of type `), at)
          }
          const patched = await rejection(merge(wrong))
          assert.deepEqual([patched.status, patched.reason], [422, 'Invalid'], at)
          assert.match(patched.message, /patch: Invalid value: .*json: cannot unmarshal/s, at)
          const applied = await rejection(apply(wrong))
          assert.equal(applied.status, 500, at)
          assert.match(applied.message, new RegExp(`\\.metadata\\.${path}: expected ${expected}`), at)
        }
      }
    })

    test(`${what}: metadata that is not an object, and lists with wrong items, are rejected`, async () => {
      for (const metadata of [true, 'x', [], 7]) assert.equal((await rejection(create(metadata))).status, 400)
      const { replace, apply } = await createObject()
      for (const wrong of [
        { finalizers: [1] },
        { ownerReferences: [1] },
        { ownerReferences: ['a'] },
        { ownerReferences: [{ ...owner, uid: 1 }] },
        { ownerReferences: [{ ...owner, controller: 'yes' }] },
        { managedFields: [1] },
      ]) {
        const at = JSON.stringify(wrong)
        assert.equal((await rejection(create({ name: context().name(), ...wrong }))).status, 400, at)
        assert.equal((await rejection(replace(wrong))).status, 400, at)
        assert.equal((await rejection(apply(wrong))).status, 500, at)
      }
    })

    test(`${what}: null is an absent field or an empty string; a name is required`, async () => {
      const { namespace, name } = context()
      const bare = { namespace: null, labels: null, annotations: { a: null }, finalizers: null, ownerReferences: null }
      const created = (await create({ name: name(), ...bare })).body as KubeObject
      assert.equal(created.metadata.namespace, namespace)
      assert.deepEqual(created.metadata.annotations, { a: '' })
      for (const metadata of [null, {}, { name: null }, { name: '' }])
        assert.match(
          (await rejection(create(metadata))).message,
          /metadata\.name: Required value: name or generateName/,
        )
      const { replace, merge, apply } = await createObject()
      for (const write of [replace, merge, apply]) {
        const { status, message } = await rejection(write({ name: null }))
        assert.equal(status, 400)
        assert.match(message, /based on URL\) was undeterminable: name must be provided/)
      }
    })

    test(`${what}: a finalizer needs a valid name`, async () => {
      const { merge } = await createObject()
      for (const finalizers of [['a b'], [''], [null]]) {
        for (const write of [() => create({ name: context().name(), finalizers }), () => merge({ finalizers })]) {
          const { status, message } = await rejection(write())
          assert.equal(status, 422)
          assert.match(message, /metadata\.finalizers: Invalid value: .*name part must consist of alphanumeric/)
        }
      }
    })
  }

  test('invalid labels and owner references are rejected', async () => {
    const label = await rejectedWithMetadata(context(), { labels: { a: 'b c' } })
    assert.equal(label.status, 422)
    assert.match(label.message, /metadata\.labels: Invalid value: "b c": a valid label/)
    const { uid: _, ...incomplete } = owner
    const reference = await rejectedWithMetadata(context(), { ownerReferences: [incomplete] })
    assert.equal(reference.status, 422)
    assert.match(
      reference.message,
      /metadata\.ownerReferences(\[0\])?\.uid: Invalid value: "": (uid )?must not be empty/,
    )
  })

  test('only finalizers of built-in kinds need a domain', async () => {
    const { kube, namespace, name } = context()
    const finalizers = ['nodomain']
    const config = { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name: name(), finalizers } }
    const refused = await rejection(kube.create(secrets, config, { dryRun: true }))
    assert.match(refused.message, /name is neither a standard finalizer name nor is it fully qualified/)
    const ours = aNodeConfig(context(), name())
    await kube.create(nodeConfigs, { ...ours, metadata: { ...ours.metadata, finalizers } }, { dryRun: true })
  })
}
