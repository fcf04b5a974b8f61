/** Server-side apply: who owns which field. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isConflict } from '../../../src/kube/errors.ts'
import { objectPath } from '../../../src/kube/paths.ts'
import { secrets } from '../../../src/kube/resources.ts'
import { aNodeConfig, nic, type Place, present, refusal } from './place.ts'

export function applyCases(place: () => Place): void {
  function wanted(name: string, labels: Record<string, string>, ids: number[]) {
    const { namespace } = place()
    // An empty map would be a value of its own, with an owner.
    const some = Object.keys(labels).length > 0 && { labels }
    return { metadata: { namespace, name, ...some }, spec: { nodeName: name, interfaces: ids.map(nic) } }
  }

  test('apply makes an object, and the same again changes nothing', async () => {
    const { kube, name } = place()
    const body = wanted(name(), { a: '1' }, [0])
    const made = await kube.apply(nodeConfigs, body, { fieldManager: 'viola' })
    assert.equal(made.metadata.generation, 1)
    assert.equal(made.kind, 'MultiNicNodeConfig')
    const again = await kube.apply(nodeConfigs, body, { fieldManager: 'viola' })
    assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion)
    const changed = await kube.apply(nodeConfigs, wanted(body.metadata.name, { a: '1' }, [0, 1]), {
      fieldManager: 'viola',
    })
    assert.equal(changed.metadata.generation, 2)
  })

  test("another manager's field is a conflict that names field and manager; force takes it", async () => {
    const { kube, name } = place()
    const own = name()
    await kube.apply(nodeConfigs, wanted(own, {}, [0]), { fieldManager: 'viola' })
    const error = await refusal(kube.apply(nodeConfigs, wanted(own, {}, [1]), { fieldManager: 'somebody' }))
    assert.ok(isConflict(error))
    assert.match(error.message, /conflict with "viola"/)
    assert.match(error.message, /\.spec\.interfaces/)
    assert.deepEqual(
      error.details?.causes?.map(({ reason, field }) => ({ reason, field })),
      [{ reason: 'FieldManagerConflict', field: '.spec.interfaces' }],
    )

    const taken = await kube.apply(nodeConfigs, wanted(own, {}, [1]), { fieldManager: 'somebody', force: true })
    assert.deepEqual(taken.spec.interfaces, [nic(1)])
    const back = await refusal(kube.apply(nodeConfigs, wanted(own, {}, [0]), { fieldManager: 'viola' }))
    assert.match(back.message, /conflict with "somebody"/)
  })

  test('two managers may want the same value', async () => {
    const { kube, name } = place()
    const own = name()
    await kube.apply(nodeConfigs, wanted(own, {}, [0]), { fieldManager: 'viola' })
    const shared = await kube.apply(nodeConfigs, wanted(own, {}, [0]), { fieldManager: 'somebody' })
    assert.deepEqual(shared.spec.interfaces, [nic(0)])
  })

  test('what a manager no longer sends goes away, and what others own stays', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, { a: '1', b: '2' }, [0]), { fieldManager: 'viola' })
    await kube.patch(nodeConfigs, key, { metadata: { labels: { c: '3' }, annotations: { note: 'kept' } } })
    const after = await kube.apply(nodeConfigs, wanted(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    assert.deepEqual(after.metadata.labels, { a: '1', c: '3' })
    assert.deepEqual(after.metadata.annotations, { note: 'kept' })
  })

  test('a field that somebody else also set survives its first owner', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, { shared: 'x' }, [0]), { fieldManager: 'viola' })
    await kube.apply(nodeConfigs, wanted(key.name, { shared: 'x' }, [0]), { fieldManager: 'somebody' })
    const after = await kube.apply(nodeConfigs, wanted(key.name, {}, [0]), { fieldManager: 'viola' })
    assert.deepEqual(after.metadata.labels, { shared: 'x' })
  })

  test('fields of a plain create are taken over by force', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const error = await refusal(kube.apply(nodeConfigs, wanted(key.name, {}, [1]), { fieldManager: 'viola' }))
    assert.ok(isConflict(error))
    const taken = await kube.apply(nodeConfigs, wanted(key.name, {}, [1]), { fieldManager: 'viola', force: true })
    assert.deepEqual(taken.spec.interfaces, [nic(1)])
    await kube.apply(nodeConfigs, wanted(key.name, {}, [2]), { fieldManager: 'viola' })
    assert.deepEqual((await present(kube, nodeConfigs, key)).spec.interfaces, [nic(2)])
  })

  test('apply of the spec leaves the status, apply of the status leaves the spec', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, {}, [0]), { fieldManager: 'viola' })
    await kube.patchStatus(nodeConfigs, key, { nics: '1/1' })
    const status = { metadata: key, status: { state: 'Configured' } }
    await kube.apply(nodeConfigs, status, { fieldManager: 'controller', subresource: 'status' })
    await kube.apply(nodeConfigs, wanted(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    const found = await present(kube, nodeConfigs, key)
    assert.deepEqual(found.status, { state: 'Configured', nics: '1/1' })
    assert.deepEqual(found.spec.interfaces, [nic(0)])
  })

  test('conditions are owned one by one', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, {}, [0]), { fieldManager: 'viola' })
    const say = (type: string, fieldManager: string) => {
      const condition = {
        type,
        status: 'True',
        reason: 'Said',
        message: '',
        lastTransitionTime: '2026-01-02T03:04:05Z',
      }
      const body = { metadata: key, status: { conditions: [condition] } }
      return kube.apply(nodeConfigs, body, { fieldManager, subresource: 'status' })
    }
    await say('Ready', 'controller')
    const both = await say('Degraded', 'somebody')
    assert.deepEqual(both.status?.conditions?.map(({ type }) => type).sort(), ['Degraded', 'Ready'])
  })

  test('managedFields say who owns what, by apply and by update', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, { a: '1' }, [0]), { fieldManager: 'viola' })
    const path = objectPath(nodeConfigs, key)
    const merge = { contentType: 'application/merge-patch+json' }
    await kube.raw('PATCH', `${path}?fieldManager=hand`, { spec: { specHash: 'x' } }, merge)
    await kube.raw('PATCH', `${path}/status?fieldManager=hand`, { status: { state: 'Pending' } }, merge)
    // As YAML, which our client hands over as it is.
    const { body } = await kube.raw('GET', path, undefined, { accept: 'application/yaml' })
    interface Managed {
      manager: string
      operation: string
      subresource?: string
      fieldsV1: object
    }
    const managed: Managed[] = parse(String(body)).metadata.managedFields
    assert.deepEqual(
      managed.map(({ manager, operation, subresource = '', fieldsV1 }) => [manager, operation, subresource, fieldsV1]),
      [
        [
          'viola',
          'Apply',
          '',
          { 'f:metadata': { 'f:labels': { 'f:a': {} } }, 'f:spec': { 'f:interfaces': {}, 'f:nodeName': {} } },
        ],
        ['hand', 'Update', '', { 'f:spec': { 'f:specHash': {} } }],
        ['hand', 'Update', 'status', { 'f:status': { '.': {}, 'f:state': {} } }],
      ],
    )
  })

  test('a field that the schema does not declare cannot be applied', async () => {
    const { kube, name } = place()
    const body = wanted(name(), {}, [0])
    const odd = { ...body, spec: { ...body.spec, surprise: 1 } }
    const error = await refusal(kube.apply(nodeConfigs, odd, { fieldManager: 'viola' }))
    assert.match(error.message, /\.spec\.surprise: field not declared in schema/)
  })

  test('a dry run of apply tells the outcome and writes nothing', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.apply(nodeConfigs, wanted(key.name, {}, [0]), { fieldManager: 'viola' })
    const told = await kube.apply(nodeConfigs, wanted(key.name, {}, [1]), { fieldManager: 'viola', dryRun: true })
    assert.deepEqual(told.spec.interfaces, [nic(1)])
    assert.deepEqual((await present(kube, nodeConfigs, key)).spec.interfaces, [nic(0)])
  })

  test('built-in kinds are applied too', async () => {
    const { kube, namespace, name } = place()
    const metadata = { namespace, name: name() }
    const body = { metadata, data: { a: 'MQ==', b: 'Mg==' } }
    const made = await kube.apply(secrets, body, { fieldManager: 'operator' })
    assert.deepEqual(made.data, { a: 'MQ==', b: 'Mg==' })
    const again = await kube.apply(secrets, body, { fieldManager: 'operator' })
    assert.equal(again.metadata.resourceVersion, made.metadata.resourceVersion)
    const less = await kube.apply(secrets, { metadata, data: { a: 'MQ==' } }, { fieldManager: 'operator' })
    assert.deepEqual(less.data, { a: 'MQ==' })
  })
}
