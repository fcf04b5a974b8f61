/** What kubectl shows: tables, selectors, other forms, describe, watches, and many objects. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { eventually } from '../../support/eventually.ts'
import { nodeConfigText, type Person, rows } from './person.ts'

const generous = { timeout: 120_000 }

export function readingCases(person: () => Person): void {
  const get = (...args: string[]) => person().k('get', ...args, '-n', person().namespace)

  test('a table has our columns, also wide, over all namespaces, with labels, sorted', async () => {
    const { k, namespace } = person()
    const [head, row] = rows(await get('mnnc'))
    assert.deepEqual(head, ['NAME', 'NODE', 'STATE', 'NICS', 'REASON', 'AGE'])
    assert.deepEqual(row?.slice(0, 2), ['worker-1', 'worker-1'])
    assert.match(await get('mnnc', '-o', 'wide', '--show-labels'), /AGE +LABELS\n.*<none>/)
    assert.match(await get('mnnc', '-L', 'zone', '--sort-by=.metadata.name'), /AGE +ZONE\nworker-1/)
    assert.match(await k('get', 'mnnc', '-A'), new RegExp(`^${namespace} +worker-1 +worker-1`, 'm'))
    assert.match(await k('get', 'multinic', '-n', namespace), /multinicnodeconfig\.multinic\.io\/worker-1/)
  })

  test('an object comes as YAML, JSON, name, by JSONPath and in columns of its own', async () => {
    assert.match(await get('mnnc', 'worker-1', '-o', 'yaml'), /mtu: 1450/)
    assert.equal(JSON.parse(await get('mnnc', '-o', 'json')).items[0].spec.nodeName, 'worker-1')
    assert.equal(await get('mnnc', '-o', 'name'), 'multinicnodeconfig.multinic.io/worker-1\n')
    assert.equal(await get('mnnc', '-o', 'jsonpath={.items[*].spec.interfaces[0].mtu}'), '1450')
    assert.deepEqual(rows(await get('mnnc', '-o', 'custom-columns=N:.metadata.name,M:.spec.interfaces[0].mtu')), [
      ['N', 'M'],
      ['worker-1', '1450'],
    ])
    assert.match(await person().k('get', '--raw', '/apis/multinic.io/v1'), /"kind":"APIResourceList"/)
  })

  test('labels and fields select, and what is not there is told so', async () => {
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

  test('describe shows the fields, and that there are no events', async () => {
    const said = await person().k('describe', 'mnnc', 'worker-1', '-n', person().namespace)
    assert.match(said, /Mac Address: +fa:16:3e:00:00:01/)
    assert.match(said, /Events: +<none>/)
  })

  test('a watch shows a change as it comes, and wait ends when the condition holds', generous, async t => {
    const { k, kube, start, namespace } = person()
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

  test('500 objects are listed in chunks', generous, async () => {
    const { k, kube, namespace, file } = person()
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
