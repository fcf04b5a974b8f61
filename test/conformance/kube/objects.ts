/** Objects: made, read, changed, and who may change what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { connectKube } from '../../../src/kube/client.ts'
import { isAlreadyExists, isConflict, isNotFound } from '../../../src/kube/errors.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { namespaces, nodes } from '../../../src/kube/resources.ts'
import { aNodeConfig, nic, type Place, present, refusal } from './place.ts'

const json = { contentType: 'application/merge-patch+json' }

export function objectCases(place: () => Place): void {
  test('an object is made, read, listed and deleted', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const made = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    assert.match(made.metadata.uid ?? '', /^[0-9a-f-]{36}$/)
    assert.match(made.metadata.creationTimestamp ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
    assert.match(made.metadata.resourceVersion ?? '', /^\d+$/)
    assert.equal(made.metadata.generation, 1)
    assert.equal(made.apiVersion, 'multinic.io/v1')
    assert.equal(made.kind, 'MultiNicNodeConfig')
    assert.deepEqual(await kube.get(nodeConfigs, key), made)
    const { items } = await kube.list(nodeConfigs, { namespace })
    assert.deepEqual(
      items.find(item => item.metadata.name === key.name),
      made,
    )
    await kube.delete(nodeConfigs, key)
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('what is not there reads as undefined, is deleted without complaint and cannot be patched', async () => {
    const { kube, namespace } = place()
    const key = { namespace, name: 'nobody' }
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    assert.equal(await kube.get(nodes, { name: 'no-such-node' }), undefined)
    await kube.delete(nodeConfigs, key)
    const error = await refusal(kube.patch(nodeConfigs, key, { metadata: { labels: { a: 'b' } } }))
    assert.ok(isNotFound(error))
    assert.equal(error.reason, 'NotFound')
    assert.equal(error.message, 'multinicnodeconfigs.multinic.io "nobody" not found')
  })

  test('a kind that is not served is an error, never an absent object', async () => {
    const { kube, namespace } = place()
    const unserved = { ...nodeConfigs, plural: 'nosuchthings' }
    assert.ok(isNotFound(await refusal(kube.get(unserved, { namespace, name: 'x' }))))
    assert.ok(isNotFound(await refusal(kube.list({ ...nodeConfigs, group: 'nosuch.example.com' }))))
  })

  test('a name is given once', async () => {
    const { kube, name } = place()
    const wanted = aNodeConfig(place(), name())
    await kube.create(nodeConfigs, wanted)
    const error = await refusal(kube.create(nodeConfigs, wanted))
    assert.ok(isAlreadyExists(error) && !isConflict(error))
    assert.match(error.message, /multinicnodeconfigs\.multinic\.io "case-\d+" already exists/)
  })

  test('an object needs a namespace that exists and a name that fits', async () => {
    const { kube } = place()
    const nowhere = aNodeConfig({ ...place(), namespace: 'no-such-namespace' }, 'a')
    assert.ok(isNotFound(await refusal(kube.create(nodeConfigs, nowhere))))
    const error = await refusal(kube.create(nodeConfigs, aNodeConfig(place(), 'Upper_Case')))
    assert.equal(error.status, 422)
    assert.match(error.message, /metadata\.name/)
  })

  test('the generation rises with the spec, and not with status, labels or a write that changes nothing', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
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

  test('a write that changes nothing leaves the resourceVersion', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const first = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' })
    const again = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' })
    assert.equal(again.metadata.resourceVersion, first.metadata.resourceVersion)
    const replaced = await kube.replace(nodeConfigs, first)
    assert.equal(replaced.metadata.resourceVersion, first.metadata.resourceVersion)
  })

  test('the status is written by its own door only', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const made = await kube.create(nodeConfigs, { ...aNodeConfig(place(), key.name), status: { state: 'Failed' } })
    assert.equal(made.status?.state, undefined)
    await kube.patchStatus(nodeConfigs, key, { state: 'Pending', nics: '0/1' })

    const read = await present(kube, nodeConfigs, key)
    await kube.replace(nodeConfigs, { ...read, status: { state: 'Failed' }, spec: { ...read.spec, specHash: 'abc' } })
    await kube.patch(nodeConfigs, key, { status: { state: 'Failed' } })
    const body = { status: { state: 'Configured' }, spec: { specHash: 'other' }, metadata: { labels: { no: 'way' } } }
    await kube.raw('PATCH', objectPath(nodeConfigs, key, 'status'), body, json)

    const after = await present(kube, nodeConfigs, key)
    assert.deepEqual(after.status, { state: 'Configured', nics: '0/1' })
    assert.equal(after.spec.specHash, 'abc')
  })

  test('a stale resourceVersion is a conflict', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const old = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    await kube.patch(nodeConfigs, key, { metadata: { labels: { moved: 'on' } } })
    const error = await refusal(kube.replace(nodeConfigs, { ...old, spec: { ...old.spec, specHash: 'abc' } }))
    assert.ok(isConflict(error) && !isAlreadyExists(error))
    assert.equal(error.reason, 'Conflict')
    assert.match(error.message, /the object has been modified/)
    assert.equal((await present(kube, nodeConfigs, key)).spec.specHash, undefined)
  })

  test('a status can be patched on condition that nothing moved', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const { resourceVersion = '' } = (await kube.create(nodeConfigs, aNodeConfig(place(), key.name))).metadata
    const first = await kube.patchStatus(nodeConfigs, key, { state: 'Pending' }, { resourceVersion })
    assert.equal(first.status?.state, 'Pending')
    assert.ok(isConflict(await refusal(kube.patchStatus(nodeConfigs, key, { state: 'Failed' }, { resourceVersion }))))
    assert.equal((await present(kube, nodeConfigs, key)).status?.state, 'Pending')
  })

  test('a merge patch sets, keeps and with null takes away; lists are replaced as a whole', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const wanted = aNodeConfig(place(), key.name, {
      labels: { a: '1', b: '2' },
      spec: { interfaces: [nic(0), nic(1)] },
    })
    await kube.create(nodeConfigs, wanted)
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

  test('a dry run checks and writes nothing', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name), { dryRun: true })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    const bad = aNodeConfig(place(), key.name, { spec: { interfaces: 'none' } })
    assert.equal((await refusal(kube.create(nodeConfigs, bad, { dryRun: true }))).status, 422)
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    await kube.patch(nodeConfigs, key, { metadata: { labels: { a: 'b' } } }, { dryRun: true })
    await kube.delete(nodeConfigs, key, { dryRun: true })
    assert.equal((await present(kube, nodeConfigs, key)).metadata.labels, undefined)
  })

  test('what is cluster-wide has no namespace', async () => {
    const { kube, namespace } = place()
    const found = await present(kube, namespaces, { name: namespace })
    assert.equal(found.metadata.namespace, undefined)
    assert.ok((await kube.list(namespaces)).items.some(one => one.metadata.name === namespace))
  })

  test('a body that is not JSON is refused', async () => {
    const { kube, namespace } = place()
    const error = await refusal(kube.raw('POST', collectionPath(nodeConfigs, namespace), 'no object'))
    assert.equal(error.status, 400)
  })

  test('a wrong token is 401', async () => {
    const { server, ca, servername } = place().kube.access
    const stranger = connectKube({ server, token: () => 'wrong', ...(ca && { ca }), ...(servername && { servername }) })
    try {
      const error = await refusal(stranger.list(namespaces))
      assert.equal(error.status, 401)
      assert.equal(error.reason, 'Unauthorized')
    } finally {
      await stranger.close()
    }
  })
}
