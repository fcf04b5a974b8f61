/** Deletion: finalizers, owners, preconditions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isConflict, isForbidden } from '../../../src/kube/errors.ts'
import { namespaces, secrets } from '../../../src/kube/resources.ts'
import { eventually } from '../../support/eventually.ts'
import { aNodeConfig, type Place, present, refusal } from './place.ts'

const slow = { timeout: 90_000 }
const soon = { within: 60_000, every: 100 }

export function deletionCases(place: () => Place): void {
  test('a finalizer holds a deleted object until it is taken off', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const finalizers = ['multinic.io/one', 'multinic.io/two']
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name, { finalizers }))
    await kube.delete(nodeConfigs, key)
    const held = await present(kube, nodeConfigs, key)
    assert.match(held.metadata.deletionTimestamp ?? '', /^\d{4}-/)
    assert.equal(held.metadata.generation, 2)
    await kube.delete(nodeConfigs, key)
    const again = await present(kube, nodeConfigs, key)
    assert.equal(again.metadata.resourceVersion, held.metadata.resourceVersion)
    await kube.patchStatus(nodeConfigs, key, { state: 'InProgress' })

    await kube.patch(nodeConfigs, key, { metadata: { finalizers: ['multinic.io/two'] } })
    assert.ok(await kube.get(nodeConfigs, key))
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: null } })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('an object that is going gets no new finalizer', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name, { finalizers: ['multinic.io/one'] }))
    await kube.delete(nodeConfigs, key)
    const more = { metadata: { finalizers: ['multinic.io/one', 'multinic.io/late'] } }
    assert.equal((await refusal(kube.patch(nodeConfigs, key, more))).status, 422)
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: [] } })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('the uid guards a name that was given again', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const first = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    await kube.delete(nodeConfigs, key)
    const second = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const error = await refusal(kube.delete(nodeConfigs, key, { uid: first.metadata.uid ?? '' }))
    assert.ok(isConflict(error))
    await kube.delete(nodeConfigs, key, { uid: second.metadata.uid ?? '' })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  async function anOwner(finalizers?: string[]) {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const { apiVersion, kind, metadata } = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const reference = { apiVersion, kind, name: key.name, uid: metadata.uid ?? '', blockOwnerDeletion: true }
    const owned = { ...key, ownerReferences: [reference], ...(finalizers && { finalizers }) }
    await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: owned })
    return key
  }

  test('what an object owns goes with it', slow, async () => {
    const { kube } = place()
    const key = await anOwner()
    await kube.delete(nodeConfigs, key, { propagation: 'Background' })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    await eventually(async () => assert.equal(await kube.get(secrets, key), undefined), soon)
  })

  test('in the foreground what is owned goes first', slow, async () => {
    const { kube } = place()
    const key = await anOwner(['multinic.io/hold'])
    await kube.delete(nodeConfigs, key, { propagation: 'Foreground' })
    const held = await present(kube, nodeConfigs, key)
    assert.deepEqual(held.metadata.finalizers, ['foregroundDeletion'])
    assert.ok(held.metadata.deletionTimestamp)
    await eventually(async () => assert.ok((await present(kube, secrets, key)).metadata.deletionTimestamp), soon)
    assert.ok(await kube.get(nodeConfigs, key))
    await kube.patch(secrets, key, { metadata: { finalizers: null } })
    await eventually(async () => assert.equal(await kube.get(nodeConfigs, key), undefined), soon)
  })

  test('what is owned can be left behind', slow, async () => {
    const { kube } = place()
    const key = await anOwner()
    await kube.delete(nodeConfigs, key, { propagation: 'Orphan' })
    await eventually(async () => assert.equal(await kube.get(nodeConfigs, key), undefined), soon)
    assert.equal((await present(kube, secrets, key)).metadata.ownerReferences, undefined)
  })

  test('a namespace that is going takes nothing new, empties, and goes when the last object did', slow, async () => {
    const { kube, name } = place()
    const namespace = `${place().namespace}-${name()}`
    const there = { ...place(), namespace }
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const key = { namespace, name: 'last' }
    await kube.create(nodeConfigs, aNodeConfig(there, 'last', { finalizers: ['multinic.io/hold'] }))
    await kube.delete(namespaces, { name: namespace })
    await eventually(async () => assert.ok((await present(kube, nodeConfigs, key)).metadata.deletionTimestamp), soon)
    const error = await refusal(kube.create(nodeConfigs, aNodeConfig(there, 'late')))
    assert.ok(isForbidden(error))
    assert.match(error.message, /because it is being terminated/)
    assert.ok(error.details?.causes?.some(cause => cause.reason === 'NamespaceTerminating'))
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: null } })
    await eventually(async () => assert.equal(await kube.get(namespaces, { name: namespace }), undefined), soon)
  })
}
