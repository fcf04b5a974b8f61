/** Deletion: finalizers, owners, preconditions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isConflict } from '../../../src/kube/errors.ts'
import { secrets } from '../../../src/kube/resources.ts'
import { eventually } from '../../eventually.ts'
import { aNodeConfig, type Place, present, refusal } from './place.ts'

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

  test('what an object owns goes with it', { timeout: 120_000 }, async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    const owner = await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const { apiVersion, kind, metadata } = owner
    const ownerReferences = [{ apiVersion, kind, name: metadata.name, uid: metadata.uid ?? '' }]
    await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: { ...key, ownerReferences } })
    await kube.delete(nodeConfigs, key, { propagation: 'Background' })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    // The real garbage collector looks for new kinds every 30 s, and only then sees an owner of a new CRD.
    await eventually(async () => assert.equal(await kube.get(secrets, key), undefined), { within: 90_000, every: 100 })
  })
}
