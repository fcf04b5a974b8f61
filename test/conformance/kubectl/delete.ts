/** kubectl: delete with dry run, finalizers, cascade modes, namespaces and CRDs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { eventually } from '../../support/eventually.ts'
import { jobText, type KubectlSession } from './session.ts'

const slow = { timeout: 120_000 }
const soon = { within: 60_000 }

export function deleteCases(session: () => KubectlSession): void {
  const pods = () => session().k('get', 'pods', '-n', session().namespace)

  test('delete: dry run, deletion, and a missing object with and without --ignore-not-found', slow, async () => {
    const { k, namespace } = session()
    const remove = (...more: string[]) => k('delete', 'mnnc', 'worker-1', '-n', namespace, ...more)
    assert.match(await remove('--dry-run=server'), /deleted.* \(server dry run\)/)
    assert.match(await k('get', 'mnnc', 'worker-1', '-n', namespace, '-o', 'name'), /worker-1/)
    const gone = k('wait', '--for=delete', 'mnnc/worker-1', '-n', namespace, '--timeout=60s')
    assert.match(await remove(), /multinicnodeconfig\.multinic\.io "worker-1" deleted/)
    // The object may be gone before the wait starts, which is an error in old versions.
    assert.match(await gone, /condition met|NotFound|no matching resources found|^$/)
    assert.match(await remove(), /\(NotFound\)/)
    assert.equal(await remove('--ignore-not-found'), '')
  })

  test('delete waits until the finalizers are removed', slow, async () => {
    const { k, kube, namespace } = session()
    const key = { namespace, name: 'held' }
    const spec = { nodeName: 'held', interfaces: [] }
    const metadata = { ...key, finalizers: ['multinic.io/hold'] }
    await kube.create(nodeConfigs, { apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata, spec })
    const deleting = k('delete', 'mnnc', 'held', '-n', namespace)
    const at = ['-o', 'jsonpath={.metadata.deletionTimestamp}']
    // The request has arrived: otherwise the object could be gone before it.
    await eventually(async () => assert.match(await k('get', 'mnnc', 'held', '-n', namespace, ...at), /^20\d\d-/), soon)
    const none = '{"metadata":{"finalizers":null}}'
    assert.match(await k('patch', 'mnnc', 'held', '-n', namespace, '--type=merge', '-p', none), /patched/)
    assert.match(await deleting, /deleted/)
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('the Pod of a Job is orphaned, or deleted in background or foreground', slow, async () => {
    const { k, file, namespace } = session()
    const job = await file('job.yaml', jobText(namespace))
    const remove = (cascade: string) => k('delete', 'job', 'j1', '-n', namespace, `--cascade=${cascade}`)
    assert.match(await remove('orphan'), /deleted/)
    assert.match(await pods(), /j1-\w{5} +0\/1 +Pending/)
    await k('delete', 'pods', '--all', '-n', namespace)
    for (const cascade of ['background', 'foreground']) {
      await k('apply', '-f', job)
      await eventually(async () => assert.match(await pods(), /j1-\w{5}/), soon)
      assert.match(await remove(cascade), /deleted/)
      await eventually(async () => assert.match(await pods(), /No resources found/), soon)
    }
  })

  test('deleting a namespace deletes its objects, and deleting a CRD deletes its custom resources', slow, async () => {
    const { k, kube, namespace } = session()
    const metadata = { namespace, name: 'last' }
    const spec = { nodeName: 'last', interfaces: [] }
    const last = { apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata, spec }
    await kube.create(nodeConfigs, last)
    assert.match(await k('delete', 'namespace', namespace), /deleted/)
    assert.doesNotMatch(await k('get', 'namespaces'), new RegExp(namespace))
    await kube.create(nodeConfigs, { ...last, metadata: { ...metadata, namespace: 'default' } })
    assert.equal((await k('delete', 'crd', '--all')).match(/ deleted/g)?.length, 3)
    assert.match(
      await k('get', 'mnnc', '-A'),
      /doesn't have a resource type "mnnc"|could not find the requested resource/,
    )
  })
}
