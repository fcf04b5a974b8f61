/** Deletion: finalizers, owners, preconditions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { isConflict, isForbidden } from '../../../src/kube/errors.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { crds, namespaces, pods, secrets } from '../../../src/kube/resources.ts'
import type { KubeObject, Resource } from '../../../src/kube/types.ts'
import { eventually } from '../../support/eventually.ts'
import { aNodeConfig, type KubeContext, present, rejection } from './context.ts'

interface Deleted {
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
}

const slow = { timeout: 90_000 }
const soon = { within: 60_000, every: 100 }

export function deletionCases(context: () => KubeContext): void {
  test('a deleted object stays until its finalizers are removed', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const finalizers = ['multinic.io/one', 'multinic.io/two']
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { finalizers }))
    await kube.delete(nodeConfigs, key)
    const deleted = await present(kube, nodeConfigs, key)
    assert.match(deleted.metadata.deletionTimestamp ?? '', /^\d{4}-/)
    assert.equal(deleted.metadata.generation, 2)
    await kube.delete(nodeConfigs, key)
    const again = await present(kube, nodeConfigs, key)
    assert.equal(again.metadata.resourceVersion, deleted.metadata.resourceVersion)
    await kube.patchStatus(nodeConfigs, key, { state: 'InProgress' })

    await kube.patch(nodeConfigs, key, { metadata: { finalizers: ['multinic.io/two'] } })
    assert.ok(await kube.get(nodeConfigs, key))
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: null } })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('a deleted object gets no new finalizer', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { finalizers: ['multinic.io/one'] }))
    await kube.delete(nodeConfigs, key)
    const more = { metadata: { finalizers: ['multinic.io/one', 'multinic.io/late'] } }
    assert.equal((await rejection(kube.patch(nodeConfigs, key, more))).status, 422)
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: [] } })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('a uid precondition protects a new object with the same name', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const first = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    await kube.delete(nodeConfigs, key)
    const second = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const error = await rejection(kube.delete(nodeConfigs, key, { uid: first.metadata.uid ?? '' }))
    assert.ok(isConflict(error))
    await kube.delete(nodeConfigs, key, { uid: second.metadata.uid ?? '' })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('a resourceVersion precondition is checked, and a deletion returns a Status', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const { metadata } = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const remove = (preconditions: object) => kube.raw('DELETE', objectPath(nodeConfigs, key), { preconditions })
    const error = await rejection(remove({ resourceVersion: '1' }))
    assert.match(error.message, /the ResourceVersion in the precondition \(1\) does not match/)
    const { body } = await remove({ uid: metadata.uid, resourceVersion: metadata.resourceVersion })
    assert.deepEqual(body, {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: key.name, group: 'multinic.io', kind: 'multinicnodeconfigs', uid: metadata.uid },
    })
  })

  test('a scheduled Pod is deleted after its grace period, an unscheduled one immediately', async () => {
    const { kube, namespace, name } = context()
    const createPod = async (spec: object) => {
      const key = { namespace, name: name() }
      const containers = [{ name: 'main', image: 'none' }]
      await kube.raw('POST', collectionPath(pods, namespace), {
        ...{ apiVersion: 'v1', kind: 'Pod', metadata: key },
        spec: { containers, automountServiceAccountToken: false, ...spec },
      })
      await kube.delete(pods, key)
      return key
    }
    assert.equal(await kube.get(pods, await createPod({})), undefined)
    const scheduled = await createPod({ nodeName: 'no-such-node' })
    const { metadata } = (await kube.raw('GET', objectPath(pods, scheduled))).body as { metadata: Deleted }
    assert.equal(metadata.deletionGracePeriodSeconds, 30)
    assert.ok(metadata.deletionTimestamp)
    // With a body, the query does not count.
    await kube.raw('DELETE', `${objectPath(pods, scheduled)}?gracePeriodSeconds=0`, { propagationPolicy: 'Background' })
    assert.ok(await kube.get(pods, scheduled))
    await kube.raw('DELETE', objectPath(pods, scheduled), { gracePeriodSeconds: 0 })
    await eventually(async () => assert.equal(await kube.get(pods, scheduled), undefined), soon)
  })

  const referenceTo = ({ apiVersion, kind, metadata: { name, uid = '' } }: KubeObject) => ({
    ...{ apiVersion, kind, name, uid },
  })
  const createOwned = async (...owners: KubeObject[]) => {
    const { kube, namespace, name } = context()
    const metadata = { namespace, name: name(), ownerReferences: owners.map(referenceTo) }
    return kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata })
  }

  test('dependents of dependents are deleted, and those with another owner stay', slow, async () => {
    const { kube, namespace, name } = context()
    const createOwner = () => kube.create(nodeConfigs, aNodeConfig(context(), name()))
    const [first, second] = [await createOwner(), await createOwner()]
    const shared = await createOwned(first, second)
    const child = await createOwned(first)
    const grandchild = await createOwned(child)
    await kube.delete(nodeConfigs, { namespace, name: first.metadata.name }, { propagation: 'Background' })
    await eventually(async () => {
      assert.equal(await kube.get(secrets, { namespace, name: grandchild.metadata.name }), undefined)
      const { metadata } = await present(kube, secrets, { namespace, name: shared.metadata.name })
      assert.deepEqual(
        metadata.ownerReferences?.map(reference => reference.name),
        [second.metadata.name],
      )
    }, soon)
  })

  test('an object created for an owner that no longer exists is deleted', slow, async () => {
    const { kube, namespace, name } = context()
    const owner = await kube.create(nodeConfigs, aNodeConfig(context(), name()))
    await kube.delete(nodeConfigs, { namespace, name: owner.metadata.name })
    const { metadata } = await createOwned(owner)
    await eventually(
      async () => assert.equal(await kube.get(secrets, { namespace, name: metadata.name }), undefined),
      soon,
    )
  })

  async function anOwner(finalizers?: string[]) {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const { apiVersion, kind, metadata } = await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const reference = { apiVersion, kind, name: key.name, uid: metadata.uid ?? '', blockOwnerDeletion: true }
    const owned = { ...key, ownerReferences: [reference], ...(finalizers && { finalizers }) }
    await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata: owned })
    return key
  }

  test('background deletion deletes the dependents', slow, async () => {
    const { kube } = context()
    const key = await anOwner()
    await kube.delete(nodeConfigs, key, { propagation: 'Background' })
    assert.equal(await kube.get(nodeConfigs, key), undefined)
    await eventually(async () => assert.equal(await kube.get(secrets, key), undefined), soon)
  })

  test('foreground deletion deletes the dependents first', slow, async () => {
    const { kube } = context()
    const key = await anOwner(['multinic.io/hold'])
    await kube.delete(nodeConfigs, key, { propagation: 'Foreground' })
    const deleted = await present(kube, nodeConfigs, key)
    assert.deepEqual(deleted.metadata.finalizers, ['foregroundDeletion'])
    assert.ok(deleted.metadata.deletionTimestamp)
    await eventually(async () => assert.ok((await present(kube, secrets, key)).metadata.deletionTimestamp), soon)
    assert.ok(await kube.get(nodeConfigs, key))
    await kube.patch(secrets, key, { metadata: { finalizers: null } })
    await eventually(async () => assert.equal(await kube.get(nodeConfigs, key), undefined), soon)
  })

  test('orphan deletion keeps the dependents', slow, async () => {
    const { kube } = context()
    const key = await anOwner()
    await kube.delete(nodeConfigs, key, { propagation: 'Orphan' })
    await eventually(async () => assert.equal(await kube.get(nodeConfigs, key), undefined), soon)
    assert.equal((await present(kube, secrets, key)).metadata.ownerReferences, undefined)
  })

  test('a deleted namespace rejects new objects, and is removed after the last of its objects', slow, async () => {
    const { kube, name } = context()
    const namespace = `${context().namespace}-${name()}`
    const inside = { ...context(), namespace }
    await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    const key = { namespace, name: 'last' }
    await kube.create(nodeConfigs, aNodeConfig(inside, 'last', { finalizers: ['multinic.io/hold'] }))
    await kube.delete(namespaces, { name: namespace })
    await eventually(async () => assert.ok((await present(kube, nodeConfigs, key)).metadata.deletionTimestamp), soon)
    const error = await rejection(kube.create(nodeConfigs, aNodeConfig(inside, 'late')))
    assert.ok(isForbidden(error))
    assert.match(error.message, /because it is being terminated/)
    assert.ok(error.details?.causes?.some(cause => cause.reason === 'NamespaceTerminating'))
    await kube.patch(nodeConfigs, key, { metadata: { finalizers: null } })
    await eventually(async () => assert.equal(await kube.get(namespaces, { name: namespace }), undefined), soon)
  })

  test('a CRD that is being deleted lets its objects end, and no new ones begin', slow, async () => {
    const { kube, namespace, name } = context()
    const group = `${name()}.example.com`
    const widgets: Resource = { group, version: 'v1', kind: 'Widget', plural: 'widgets', namespaced: true }
    const definition = { name: `widgets.${group}` }
    const spec = {
      ...{ group, scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' } },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
    }
    const kind = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' }
    await kube.create(crds, { ...kind, metadata: definition, spec } as KubeObject)
    const aWidget = (name: string): KubeObject => ({
      apiVersion: `${group}/v1`,
      kind: 'Widget',
      metadata: { name, namespace, finalizers: ['multinic.io/hold'] },
    })
    const verbs = async () => {
      const { body } = await kube.raw('GET', `/apis/${group}/v1`)
      const { resources } = body as { resources: { name: string; verbs: string[] }[] }
      return resources.find(one => one.name === 'widgets')?.verbs
    }
    const key = { namespace, name: 'last' }
    await eventually(() => kube.create(widgets, aWidget('last')), soon)
    await eventually(async () => assert.ok((await verbs())?.includes('create')), soon)
    await kube.delete(crds, definition)
    await eventually(async () => assert.ok((await present(kube, widgets, key)).metadata.deletionTimestamp), soon)
    await eventually(async () => assert.equal((await verbs())?.includes('create'), false), soon)
    const error = await rejection(kube.create(widgets, aWidget('late')))
    assert.ok(isForbidden(error))
    assert.match(
      error.message,
      /"late" is forbidden: create not allowed while custom resource definition is terminating/,
    )
    await kube.patch(widgets, key, { metadata: { finalizers: null } })
    await eventually(async () => assert.equal(await kube.get(crds, definition), undefined), soon)
  })
}
