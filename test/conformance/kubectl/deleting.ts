/** What is deleted, what goes with it, and what may stay. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { eventually } from '../../support/eventually.ts'
import { jobText, type Person } from './person.ts'

const generous = { timeout: 120_000 }
const soon = { within: 60_000 }

export function deletingCases(person: () => Person): void {
  const pods = () => person().k('get', 'pods', '-n', person().namespace)

  test('a dry run deletes nothing; then it is gone, and once more is an error or not, as asked', generous, async () => {
    const { k, namespace } = person()
    const remove = (...more: string[]) => k('delete', 'mnnc', 'worker-1', '-n', namespace, ...more)
    assert.match(await remove('--dry-run=server'), /deleted.* \(server dry run\)/)
    assert.match(await k('get', 'mnnc', 'worker-1', '-n', namespace, '-o', 'name'), /worker-1/)
    const gone = k('wait', '--for=delete', 'mnnc/worker-1', '-n', namespace, '--timeout=60s')
    assert.match(await remove(), /multinicnodeconfig\.multinic\.io "worker-1" deleted/)
    // It may have been gone before the wait began, which an old kubectl calls an error.
    assert.match(await gone, /condition met|NotFound|no matching resources found|^$/)
    assert.match(await remove(), /\(NotFound\)/)
    assert.equal(await remove('--ignore-not-found'), '')
  })

  test('a finalizer holds an object, and who waits for it', generous, async () => {
    const { k, kube, namespace } = person()
    const key = { namespace, name: 'held' }
    const spec = { nodeName: 'held', interfaces: [] }
    const metadata = { ...key, finalizers: ['multinic.io/hold'] }
    await kube.create(nodeConfigs, { apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata, spec })
    assert.match(await k('delete', 'mnnc', 'held', '-n', namespace, '--wait=false'), /deleted/)
    const deleting = k('delete', 'mnnc', 'held', '-n', namespace)
    const at = ['-o', 'jsonpath={.metadata.deletionTimestamp}']
    assert.match(await k('get', 'mnnc', 'held', '-n', namespace, ...at), /^20\d\d-/)
    const none = '{"metadata":{"finalizers":null}}'
    assert.match(await k('patch', 'mnnc', 'held', '-n', namespace, '--type=merge', '-p', none), /patched/)
    assert.match(await deleting, /deleted/)
    assert.equal(await kube.get(nodeConfigs, key), undefined)
  })

  test('the Pod of a Job stays as an orphan, or goes with it in front or behind', generous, async () => {
    const { k, file, namespace } = person()
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

  test('a namespace goes with all that is in it, a CRD with all of its kind', generous, async () => {
    const { k, kube, namespace } = person()
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
