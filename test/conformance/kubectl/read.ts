/** kubectl: get with tables, selectors and output formats, describe, watch, wait, and many objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { eventually } from '../../support/eventually.ts'
import { type KubectlSession, nodeConfigText, rows } from './session.ts'

const slow = { timeout: 120_000 }

export function readCases(session: () => KubectlSession): void {
  const get = (...args: string[]) => session().k('get', ...args, '-n', session().namespace)

  test('get shows the columns of the CRD, wide, for all namespaces, with labels, sorted', async () => {
    const { k, namespace } = session()
    const [head, row] = rows(await get('mnnc'))
    assert.deepEqual(head, ['NAME', 'NODE', 'STATE', 'NICS', 'REASON', 'GENERATION', 'OBSERVED', 'AGE'])
    assert.deepEqual(row?.slice(0, 2), ['worker-1', 'worker-1'])
    assert.match(await get('mnnc', '-o', 'wide', '--show-labels'), /AGE +LABELS\n.*<none>/)
    assert.match(await get('mnnc', '-L', 'zone', '--sort-by=.metadata.name'), /AGE +ZONE\nworker-1/)
    assert.match(await k('get', 'mnnc', '-A'), new RegExp(`^${namespace} +worker-1 +worker-1`, 'm'))
    assert.match(await k('get', 'multinic', '-n', namespace), /multinicnodeconfig\.multinic\.io\/worker-1/)
  })

  test('get supports YAML, JSON, name, JSONPath and custom columns', async () => {
    assert.match(await get('mnnc', 'worker-1', '-o', 'yaml'), /mtu: 1450/)
    assert.equal(JSON.parse(await get('mnnc', '-o', 'json')).items[0].spec.nodeName, 'worker-1')
    assert.equal(await get('mnnc', '-o', 'name'), 'multinicnodeconfig.multinic.io/worker-1\n')
    assert.equal(await get('mnnc', '-o', 'jsonpath={.items[*].spec.interfaces[0].mtu}'), '1450')
    assert.deepEqual(rows(await get('mnnc', '-o', 'custom-columns=N:.metadata.name,M:.spec.interfaces[0].mtu')), [
      ['N', 'M'],
      ['worker-1', '1450'],
    ])
    assert.match(await session().k('get', '--raw', '/apis/multinic.io/v1'), /"kind":"APIResourceList"/)
  })

  test('selectors filter, and missing objects and kinds are errors', async () => {
    assert.match(await get('mnnc', '--field-selector', 'metadata.name=worker-1'), /^worker-1/m)
    assert.match(await get('mnnc', '--field-selector', 'metadata.name!=worker-1'), /No resources found/)
    assert.match(await get('mnnc', '-l', 'zone in (a,b)'), /No resources found/)
    assert.match(
      await get('mnnc', '--field-selector', 'spec.nodeName=worker-1'),
      /field label not supported: spec\.nodeName/,
    )
    assert.match(await get('mnnc', 'nobody'), /\(NotFound\): multinicnodeconfigs\.multinic\.io "nobody" not found/)
    assert.match(await get('nosuchkind'), /the server doesn't have a resource type "nosuchkind"/)
  })

  test('describe shows the fields and no events', async () => {
    const output = await session().k('describe', 'mnnc', 'worker-1', '-n', session().namespace)
    assert.match(output, /Mac Address: +fa:16:3e:00:00:01/)
    assert.match(output, /Events: +<none>/)
  })

  test('get -w shows changes, and wait returns when the condition is met', slow, async t => {
    const { k, kube, start, namespace } = session()
    const key = { namespace, name: 'worker-1' }
    const watching = start('get', 'mnnc', '-n', namespace, '-w')
    t.after(() => watching.kill())
    let seen = ''
    watching.stdout?.on('data', data => {
      seen += data
    })
    await eventually(() => assert.match(seen, /worker-1/), { within: 30_000 })
    const waiting = k('wait', 'mnnc/worker-1', '-n', namespace, '--for=condition=Ready', '--timeout=60s')
    const ready = { type: 'Ready', status: 'True', reason: 'AllInterfacesConfigured', message: 'fine' }
    const conditions = [{ ...ready, lastTransitionTime: '2026-01-02T03:04:05Z' }]
    await kube.patchStatus(nodeConfigs, key, { state: 'Configured', nics: '1/1', conditions })
    await eventually(() => assert.match(seen, /worker-1 +worker-1 +Configured +1\/1 +AllInterfacesConfigured/), {
      within: 30_000,
    })
    assert.match(await waiting, /condition met/)
    assert.match(await k('wait', 'mnnc/worker-1', '-n', namespace, '--for=condition=No', '--timeout=1s'), /timed out/)
  })

  test('get lists 500 objects in chunks', slow, async () => {
    const { k, kube, namespace, file } = session()
    const { spec } = JSON.parse(await get('mnnc', 'worker-1', '-o', 'json'))
    const labels = { batch: 'big' }
    const make = async (from: number) => {
      for (let at = from; at < 500; at += 10) {
        const metadata = { namespace, name: `big-${at}`, labels }
        await kube.create(nodeConfigs, { apiVersion: 'multinic.io/v1', kind: 'MultiNicNodeConfig', metadata, spec })
      }
    }
    await Promise.all(Array.from({ length: 10 }, (_, from) => make(from)))
    const listed = await get('mnnc', '-l', 'batch=big', '--chunk-size=100', '--no-headers')
    assert.equal(rows(listed).length, 500)
    const path = await file('config.yaml', nodeConfigText(namespace, 1450))
    assert.match(await k('apply', '-f', path), /worker-1 unchanged/)
    await kube.raw(
      'DELETE',
      `/apis/multinic.io/v1/namespaces/${namespace}/multinicnodeconfigs?labelSelector=batch%3Dbig`,
    )
    assert.match(await get('mnnc', '-l', 'batch=big'), /No resources found/)
  })
}
