/** Server-side apply and field ownership. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isConflict } from '../../../src/kube/errors.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { secrets } from '../../../src/kube/resources.ts'
import type { Key } from '../../../src/kube/types.ts'
import { aNodeConfig, type KubeContext, nic, present, rejection } from './context.ts'

interface ManagedFields {
  manager: string
  operation: string
  subresource?: string
  fieldsV1: object
}

export function applyCases(context: () => KubeContext): void {
  /** As YAML, which the client returns unparsed: it drops managedFields from JSON. */
  async function managedFieldsOf(key: Key): Promise<ManagedFields[]> {
    const path = objectPath(nodeConfigs, key)
    const { body } = await context().kube.raw('GET', path, undefined, { accept: 'application/yaml' })
    return parse(String(body)).metadata.managedFields
  }

  function configWith(name: string, labels: Record<string, string>, ids: number[]) {
    const { namespace } = context()
    // An empty map would be an owned value.
    const some = Object.keys(labels).length > 0 && { labels }
    return { metadata: { namespace, name, ...some }, spec: { nodeName: name, interfaces: ids.map(nic) } }
  }

  test('apply creates an object, and a second apply changes nothing', async () => {
    const { kube, name } = context()
    const body = configWith(name(), { a: '1' }, [0])
    const created = await kube.apply(nodeConfigs, body, { fieldManager: 'viola' })
    assert.equal(created.metadata.generation, 1)
    assert.equal(created.kind, 'MultiNicNodeConfig')
    const again = await kube.apply(nodeConfigs, body, { fieldManager: 'viola' })
    assert.equal(again.metadata.resourceVersion, created.metadata.resourceVersion)
    const changed = await kube.apply(nodeConfigs, configWith(body.metadata.name, { a: '1' }, [0, 1]), {
      fieldManager: 'viola',
    })
    assert.equal(changed.metadata.generation, 2)
  })

  test('a field of another manager is a conflict; force transfers the ownership', async () => {
    const { kube, name } = context()
    const own = name()
    await kube.apply(nodeConfigs, configWith(own, {}, [0]), { fieldManager: 'viola' })
    const error = await rejection(kube.apply(nodeConfigs, configWith(own, {}, [1]), { fieldManager: 'other' }))
    assert.ok(isConflict(error))
    assert.match(error.message, /conflict with "viola"/)
    assert.match(error.message, /\.spec\.interfaces/)
    assert.deepEqual(
      error.details?.causes?.map(({ reason, field }) => ({ reason, field })),
      [{ reason: 'FieldManagerConflict', field: '.spec.interfaces' }],
    )

    await kube.apply(nodeConfigs, configWith(own, { a: '1' }, [0]), { fieldManager: 'viola' })
    const both = await rejection(kube.apply(nodeConfigs, configWith(own, { a: '2' }, [1]), { fieldManager: 'other' }))
    assert.match(
      both.message,
      /^Apply failed with 2 conflicts: conflicts with "viola":\n- \.metadata\.labels\.a\n- \.spec\.interfaces$/,
    )

    const forced = await kube.apply(nodeConfigs, configWith(own, {}, [1]), { fieldManager: 'other', force: true })
    assert.deepEqual(forced.spec.interfaces, [nic(1)])
    const back = await rejection(kube.apply(nodeConfigs, configWith(own, {}, [0]), { fieldManager: 'viola' }))
    assert.match(back.message, /conflict with "other"/)
  })

  test('two managers can own the same value', async () => {
    const { kube, name } = context()
    const own = name()
    await kube.apply(nodeConfigs, configWith(own, {}, [0]), { fieldManager: 'viola' })
    const shared = await kube.apply(nodeConfigs, configWith(own, {}, [0]), { fieldManager: 'other' })
    assert.deepEqual(shared.spec.interfaces, [nic(0)])
  })

  test('a field that its manager no longer applies is removed; fields of others stay', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, { a: '1', b: '2' }, [0]), { fieldManager: 'viola' })
    await kube.patch(nodeConfigs, key, { metadata: { labels: { c: '3' }, annotations: { note: 'stays' } } })
    const after = await kube.apply(nodeConfigs, configWith(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    assert.deepEqual(after.metadata.labels, { a: '1', c: '3' })
    assert.deepEqual(after.metadata.annotations, { note: 'stays' })
  })

  test('a field with a second owner stays when the first one drops it', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, { shared: 'x' }, [0]), { fieldManager: 'viola' })
    await kube.apply(nodeConfigs, configWith(key.name, { shared: 'x' }, [0]), { fieldManager: 'other' })
    const after = await kube.apply(nodeConfigs, configWith(key.name, {}, [0]), { fieldManager: 'viola' })
    assert.deepEqual(after.metadata.labels, { shared: 'x' })
  })

  test('force transfers the fields of a create', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const error = await rejection(kube.apply(nodeConfigs, configWith(key.name, {}, [1]), { fieldManager: 'viola' }))
    assert.ok(isConflict(error))
    assert.match(error.message, /conflict with ".+" using multinic\.io\/v1: \.spec\.interfaces/)
    const forced = await kube.apply(nodeConfigs, configWith(key.name, {}, [1]), { fieldManager: 'viola', force: true })
    assert.deepEqual(forced.spec.interfaces, [nic(1)])
    await kube.apply(nodeConfigs, configWith(key.name, {}, [2]), { fieldManager: 'viola' })
    assert.deepEqual((await present(kube, nodeConfigs, key)).spec.interfaces, [nic(2)])
  })

  test('apply of the spec keeps the status, and apply of the status keeps the spec', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, {}, [0]), { fieldManager: 'viola' })
    await kube.patchStatus(nodeConfigs, key, { nics: '1/1' })
    const status = { metadata: key, status: { state: 'Configured' } }
    await kube.apply(nodeConfigs, status, { fieldManager: 'controller', subresource: 'status' })
    await kube.apply(nodeConfigs, configWith(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    const found = await present(kube, nodeConfigs, key)
    assert.deepEqual(found.status, { state: 'Configured', nics: '1/1' })
    assert.deepEqual(found.spec.interfaces, [nic(0)])
  })

  test('each condition has its own owner', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, {}, [0]), { fieldManager: 'viola' })
    const applyCondition = (type: string, fieldManager: string) => {
      const condition = {
        type,
        status: 'True',
        reason: 'Tested',
        message: '',
        lastTransitionTime: '2026-01-02T03:04:05Z',
      }
      const body = { metadata: key, status: { conditions: [condition] } }
      return kube.apply(nodeConfigs, body, { fieldManager, subresource: 'status' })
    }
    await applyCondition('Ready', 'controller')
    const both = await applyCondition('Degraded', 'other')
    assert.deepEqual(
      both.status?.conditions?.map(({ type }) => type),
      ['Ready', 'Degraded'],
    )
    const { fieldsV1 } = (await managedFieldsOf(key)).find(({ manager }) => manager === 'other') ?? {}
    const fields = { 'f:lastTransitionTime': {}, 'f:message': {}, 'f:reason': {}, 'f:status': {}, 'f:type': {} }
    assert.deepEqual(fieldsV1, { 'f:status': { 'f:conditions': { 'k:{"type":"Degraded"}': { '.': {}, ...fields } } } })
  })

  test('a create owns all fields, and ownership can be reset', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const path = `${collectionPath(nodeConfigs, namespace)}?fieldManager=creator`
    await kube.raw('POST', path, aNodeConfig(context(), key.name, { labels: { a: '1' } }))
    assert.deepEqual(
      (await managedFieldsOf(key)).map(({ manager, operation, fieldsV1 }) => [manager, operation, fieldsV1]),
      [
        [
          'creator',
          'Update',
          {
            'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
            'f:spec': { '.': {}, 'f:interfaces': {}, 'f:nodeName': {} },
          },
        ],
      ],
    )
    const reset = { metadata: { managedFields: [{}] } }
    await kube.raw('PATCH', objectPath(nodeConfigs, key), reset, { contentType: 'application/merge-patch+json' })
    assert.equal(await managedFieldsOf(key), undefined)
    const error = await rejection(kube.apply(nodeConfigs, configWith(key.name, {}, [1]), { fieldManager: 'viola' }))
    assert.match(error.message, /conflict with "before-first-apply" using multinic\.io\/v1/)
  })

  test('apply requires a field manager and rejects managedFields', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const body = aNodeConfig(context(), key.name)
    const patch = (query: string, metadata: object) =>
      rejection(
        kube.raw(
          'PATCH',
          `${objectPath(nodeConfigs, key)}${query}`,
          { ...body, metadata: { ...key, ...metadata } },
          {
            contentType: 'application/apply-patch+yaml',
          },
        ),
      )
    const unnamed = await patch('', {})
    assert.equal(unnamed.status, 422)
    assert.match(unnamed.message, /fieldManager: Required value: is required for apply patch/)
    const managed = { managedFields: [{ manager: 'viola', operation: 'Apply', apiVersion: 'multinic.io/v1' }] }
    assert.match((await patch('?fieldManager=viola', managed)).message, /metadata\.managedFields must be nil/)
  })

  test('managedFields list the owners of applied and of updated fields', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    const path = objectPath(nodeConfigs, key)
    const merge = { contentType: 'application/merge-patch+json' }
    await kube.raw('PATCH', `${path}?fieldManager=editor`, { spec: { specHash: 'x' } }, merge)
    await kube.raw('PATCH', `${path}/status?fieldManager=editor`, { status: { state: 'Pending' } }, merge)
    const managed = await managedFieldsOf(key)
    assert.deepEqual(
      managed.map(({ manager, operation, subresource = '', fieldsV1 }) => [manager, operation, subresource, fieldsV1]),
      [
        [
          'viola',
          'Apply',
          '',
          { 'f:metadata': { 'f:labels': { 'f:a': {} } }, 'f:spec': { 'f:interfaces': {}, 'f:nodeName': {} } },
        ],
        ['editor', 'Update', '', { 'f:spec': { 'f:specHash': {} } }],
        ['editor', 'Update', 'status', { 'f:status': { '.': {}, 'f:state': {} } }],
      ],
    )
  })

  test('a field that is not in the schema cannot be applied', async () => {
    const { kube, name } = context()
    const body = configWith(name(), {}, [0])
    const odd = { ...body, spec: { ...body.spec, surprise: 1 } }
    const error = await rejection(kube.apply(nodeConfigs, odd, { fieldManager: 'viola' }))
    assert.match(error.message, /\.spec\.surprise: field not declared in schema/)
  })

  test('a dry run of apply returns the result and writes nothing', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, configWith(key.name, {}, [0]), { fieldManager: 'viola' })
    const result = await kube.apply(nodeConfigs, configWith(key.name, {}, [1]), { fieldManager: 'viola', dryRun: true })
    assert.deepEqual(result.spec.interfaces, [nic(1)])
    assert.deepEqual((await present(kube, nodeConfigs, key)).spec.interfaces, [nic(0)])
  })

  test('built-in kinds can be applied', async () => {
    const { kube, namespace, name } = context()
    const metadata = { namespace, name: name() }
    const body = { metadata, data: { a: 'MQ==', b: 'Mg==' } }
    const created = await kube.apply(secrets, body, { fieldManager: 'operator' })
    assert.deepEqual(created.data, { a: 'MQ==', b: 'Mg==' })
    const again = await kube.apply(secrets, body, { fieldManager: 'operator' })
    assert.equal(again.metadata.resourceVersion, created.metadata.resourceVersion)
    const less = await kube.apply(secrets, { metadata, data: { a: 'MQ==' } }, { fieldManager: 'operator' })
    assert.deepEqual(less.data, { a: 'MQ==' })
  })
}
