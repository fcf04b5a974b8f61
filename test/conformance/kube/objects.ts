/** Objects: create, read, update, delete, conflicts and dry runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { connectKube } from '../../../src/kube/client.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../../src/kube/errors.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { namespaces, nodes, secrets } from '../../../src/kube/resources.ts'
import { aNodeConfig, type KubeContext, nic, present, rejectedWithMetadata, rejection } from './context.ts'

const json = { contentType: 'application/merge-patch+json' }

export function objectCases(context: () => KubeContext): void {
  test('an object is created, read, listed and deleted', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const created = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    assert.match(created.metadata.uid ?? '', /^[0-9a-f-]{36}$/)
    assert.match(created.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.match(created.metadata.resourceVersion ?? '', /^\d+$/)
    assert.equal(created.metadata.generation, 1)
    assert.equal(created.apiVersion, 'multinic.io/v1')
    assert.equal(created.kind, 'MultiNicNodeConfig')
    assert.deepEqual(await kube.get(nodeConfigs, key), created)
    const { items } = await kube.list(nodeConfigs, { namespace })
    assert.deepEqual(
      items.find(item => item.metadata.name === key.name),
      created,
    )
    await kube.delete(nodeConfigs, key)
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('a missing object reads as undefined, can be deleted and cannot be patched', async () => {
    const { kube, namespace } = context()
    const key = { namespace, name: 'nobody' }
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    assert.equal(await kube.get(nodes, { name: 'no-such-node' }), undefined)
    await kube.delete(nodeConfigs, key)
    const error = await rejection(kube.patch(nodeConfigs, key, { metadata: { labels: { a: 'b' } } }))
    assert.ok(isNotFound(error))
    assert.equal(error.reason, 'NotFound')
    assert.equal(error.message, 'multinicnodeconfigs.multinic.io "nobody" not found')
  })

  test('a kind that is not served is an error, not a missing object', async () => {
    const { kube, namespace } = context()
    const unserved = { ...nodeConfigs, plural: 'nosuchthings' }
    assert.ok(isNotFound(await rejection(kube.get(unserved, { namespace, name: 'x' }))))
    assert.ok(isNotFound(await rejection(kube.list({ ...nodeConfigs, group: 'nosuch.example.com' }))))
  })

  test('a second object with the same name is rejected', async () => {
    const { kube, name } = context()
    const config = aNodeConfig(context(), name())
    await kube.create(nodeConfigs, config)
    const error = await rejection(kube.create(nodeConfigs, config))
    assert.ok(isAlreadyExists(error) && !isConflict(error))
    assert.match(error.message, /multinicnodeconfigs\.multinic\.io "case-\d+" already exists/)
  })

  test('an object needs an existing namespace and a valid name', async () => {
    const { kube } = context()
    const nowhere = aNodeConfig({ ...context(), namespace: 'no-such-namespace' }, 'a')
    assert.ok(isNotFound(await rejection(kube.create(nodeConfigs, nowhere))))
    const error = await rejection(kube.create(nodeConfigs, aNodeConfig(context(), 'Upper_Case')))
    assert.equal(error.status, 422)
    assert.match(error.message, /metadata\.name/)
  })

  test('the generation changes with the spec, not with status, labels or a write without changes', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const generation = async () => (await present(kube, nodeConfigs, key)).metadata.generation
    await kube.patchStatus(nodeConfigs, key, { state: 'Pending' })
    assert.equal(await generation(), 1)
    await kube.patch(nodeConfigs, key, { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } })
    assert.equal(await generation(), 1)
    await kube.patch(nodeConfigs, key, { spec: { interfaces: [nic(0)] } })
    assert.equal(await generation(), 1)
    await kube.patch(nodeConfigs, key, { spec: { interfaces: [nic(0), nic(1)] } })
    assert.equal(await generation(), 2)
  })

  test('a write without changes keeps the resourceVersion', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const first = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' })
    const again = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' })
    assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion)
    const replaced = await kube.replace(nodeConfigs, first)
    assert.equal(replaced.metadata.resourceVersion, first.metadata.resourceVersion)
  })

  test('only the status subresource changes the status', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const created = await kube.create(nodeConfigs, { ...aNodeConfig(context(), key.name), status: { state: 'Failed' } })
    assert.equal(created.status?.state, undefined)
    await kube.patchStatus(nodeConfigs, key, { state: 'Pending', nics: '0/1' })

    const read = await present(kube, nodeConfigs, key)
    await kube.replace(nodeConfigs, { ...read, status: { state: 'Failed' }, spec: { ...read.spec, specHash: 'abc' } })
    await kube.patch(nodeConfigs, key, { status: { state: 'Failed' } })
    const body = {
      status: { state: 'Configured' },
      spec: { specHash: 'other' },
      metadata: { labels: { ignored: 'yes' } },
    }
    await kube.raw('PATCH', objectPath(nodeConfigs, key, 'status'), body, json)

    const after = await present(kube, nodeConfigs, key)
    assert.deepEqual(after.status, { state: 'Configured', nics: '0/1' })
    assert.equal(after.spec.specHash, 'abc')
  })

  test('an outdated resourceVersion is a conflict', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const old = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    await kube.patch(nodeConfigs, key, { metadata: { labels: { changed: 'yes' } } })
    const error = await rejection(kube.replace(nodeConfigs, { ...old, spec: { ...old.spec, specHash: 'abc' } }))
    assert.ok(isConflict(error) && !isAlreadyExists(error))
    assert.equal(error.reason, 'Conflict')
    assert.match(error.message, /the object has been modified/)
    assert.equal((await present(kube, nodeConfigs, key)).spec.specHash, undefined)
  })

  test('a status patch with a resourceVersion fails if the object has changed', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const { resourceVersion = '' } = (await kube.create(nodeConfigs, aNodeConfig(context(), key.name))).metadata
    const first = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' }, { resourceVersion })
    assert.equal(first.status?.state, 'Pending')
    assert.ok(isConflict(await rejection(kube.patchStatus(nodeConfigs, key, { state: 'Failed' }, { resourceVersion }))))
    assert.equal((await present(kube, nodeConfigs, key)).status?.state, 'Pending')
  })

  test('a merge patch sets fields, removes them with null, and replaces lists', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const config = aNodeConfig(context(), key.name, {
      labels: { a: '1', b: '2' },
      spec: { interfaces: [nic(0), nic(1)] },
    })
    await kube.create(nodeConfigs, config)
    const patched = await kube.patch(nodeConfigs, key, {
      metadata: { labels: { a: null, c: '3' } },
      spec: { interfaces: [nic(2)] },
    })
    assert.deepEqual(patched.metadata.labels, { b: '2', c: '3' })
    assert.deepEqual(
      patched.spec.interfaces.map(one => one.id),
      [2],
    )
    assert.equal(patched.spec.nodeName, key.name)
  })

  test('a dry run validates and writes nothing', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name), { dryRun: true })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    const bad = aNodeConfig(context(), key.name, { spec: { interfaces: 'none' } })
    assert.equal((await rejection(kube.create(nodeConfigs, bad, { dryRun: true }))).status, 422)
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    await kube.patch(nodeConfigs, key, { metadata: { labels: { a: 'b' } } }, { dryRun: true })
    await kube.delete(nodeConfigs, key, { dryRun: true })
    assert.equal((await present(kube, nodeConfigs, key)).metadata.labels, undefined)
  })

  test('a cluster-scoped object has no namespace', async () => {
    const { kube, namespace } = context()
    const found = await present(kube, namespaces, { name: namespace })
    assert.equal(found.metadata.namespace, undefined)
    assert.ok((await kube.list(namespaces)).items.some(one => one.metadata.name === namespace))
  })

  test('a create with a resourceVersion or another namespace is rejected', async () => {
    const versioned = await rejectedWithMetadata(context(), { resourceVersion: '5' })
    assert.equal(versioned.status, 500)
    assert.match(versioned.message, /resourceVersion should not be set on objects to be created/)
    const elsewhere = await rejectedWithMetadata(context(), { namespace: 'default' })
    assert.equal(elsewhere.status, 400)
    assert.match(elsewhere.message, /the namespace of the provided object does not match the namespace sent/)
  })

  test('an update without a resourceVersion is rejected', async () => {
    const { kube, namespace, name } = context()
    const config = aNodeConfig(context(), name())
    await kube.create(nodeConfigs, config)
    const error = await rejection(
      kube.raw('PUT', objectPath(nodeConfigs, { namespace, name: config.metadata.name }), config),
    )
    assert.equal(error.status, 422)
    assert.match(error.message, /metadata\.resourceVersion: Invalid value: .*must be specified for an update/)
  })

  test('an invalid body is 400, an unsupported method 405, and an unserved path 404 without a Status', async () => {
    const { kube, namespace } = context()
    const path = collectionPath(nodeConfigs, namespace)
    assert.equal((await rejection(kube.raw('POST', path, 'no object'))).status, 400)
    assert.equal((await rejection(kube.raw('POST', objectPath(secrets, { namespace, name: 'some' }), {}))).status, 405)
    const unserved = await rejection(kube.raw('GET', '/apis/nothing.example.com/v1/things'))
    assert.deepEqual([unserved.status, unserved.details], [404, undefined])
  })

  test('a wrong token is 401', async () => {
    const { server, ca, servername } = context().kube.access
    const stranger = connectKube({ server, token: () => 'wrong', ...(ca && { ca }), ...(servername && { servername }) })
    try {
      const error = await rejection(stranger.list(namespaces))
      assert.equal(error.status, 401)
      assert.equal(error.reason, 'Unauthorized')
    } finally {
      await stranger.close()
    }
  })
}
