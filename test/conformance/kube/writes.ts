/** Writes: JSON and strategic merge patches, generated names, unknown fields, YAML. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { jobs, nodes, secrets } from '../../../src/kube/resources.ts'
import type { SecretObject } from '../../../src/kube/types.ts'
import { aNodeConfig, type KubeContext, nic, present, rejection } from './context.ts'

export function writeCases(context: () => KubeContext): void {
  test('a JSON patch is applied completely or not at all', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name, { labels: { a: '1' } }))
    const patch = (operations: object[], subresource?: string) =>
      kube.raw('PATCH', objectPath(nodeConfigs, key, subresource), operations, {
        contentType: 'application/json-patch+json',
      })
    await patch([
      { op: 'test', path: '/spec/nodeName', value: key.name },
      { op: 'add', path: '/metadata/labels/b~1c', value: '2' },
      { op: 'copy', from: '/metadata/labels/a', path: '/metadata/labels/d' },
      { op: 'move', from: '/metadata/labels/a', path: '/metadata/labels/e' },
      { op: 'add', path: '/spec/interfaces/-', value: nic(1) },
      { op: 'add', path: '/spec/interfaces/0', value: nic(2) },
      { op: 'remove', path: '/spec/interfaces/0' },
      { op: 'replace', path: '/spec/interfaces/0/mtu', value: 1400 },
    ])
    await patch([{ op: 'add', path: '/status', value: { state: 'Pending' } }], 'status')
    const after = await present(kube, nodeConfigs, key)
    assert.deepEqual(after.metadata.labels, { 'b/c': '2', d: '1', e: '1' })
    assert.deepEqual(
      after.spec.interfaces.map(({ id, mtu }) => [id, mtu]),
      [
        [0, 1400],
        [1, 1450],
      ],
    )
    assert.equal(after.status?.state, 'Pending')
    for (const wrong of [
      { op: 'test', path: '/spec/nodeName', value: 'another' },
      { op: 'remove', path: '/spec/nothing' },
      { op: 'replace', path: '/spec/interfaces/7/mtu', value: 1 },
      { op: 'jump', path: '/spec' },
    ]) {
      const error = await rejection(patch([{ op: 'add', path: '/metadata/labels/f', value: '3' }, wrong]))
      assert.equal(error.status, 422, wrong.op)
    }
    const notAList = kube.raw('PATCH', objectPath(nodeConfigs, key), {}, { contentType: 'application/json-patch+json' })
    assert.equal((await rejection(notAList)).status, 400)
    const still = await present(kube, nodeConfigs, key)
    assert.equal(still.metadata.resourceVersion, after.metadata.resourceVersion)
  })

  test('a strategic merge patch of a built-in kind merges keyed lists', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    const strategic = { contentType: 'application/strategic-merge-patch+json' }
    const env = [
      { name: 'A', value: '1' },
      { name: 'B', value: '2' },
    ]
    const template = {
      spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'none', env }] },
    }
    const spec = { suspend: true, template }
    await kube.raw('POST', collectionPath(jobs, namespace), {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: key,
      spec,
    })
    const body = {
      metadata: { labels: { a: 'b' }, finalizers: ['multinic.io/one'] },
      spec: {
        template: {
          spec: {
            containers: [
              {
                name: 'main',
                env: [
                  { name: 'B', $patch: 'delete' },
                  { name: 'A', value: '3' },
                ],
              },
            ],
          },
        },
      },
    }
    const path = objectPath(jobs, key)
    const result = (await kube.raw('PATCH', `${path}?dryRun=All`, { metadata: body.metadata }, strategic)).body
    assert.deepEqual((result as { metadata: { finalizers: string[] } }).metadata.finalizers, ['multinic.io/one'])
    const immutable = await rejection(kube.raw('PATCH', path, body, strategic))
    assert.match(immutable.message, /spec\.template(\.spec)?: Invalid value: .*"3".*field is immutable/s)
    assert.doesNotMatch(immutable.message, /"[Nn]ame":"B"/)
    const ours = await rejection(kube.raw('PATCH', objectPath(nodeConfigs, key), { metadata: {} }, strategic))
    assert.equal(ours.status, 415)
    await kube.delete(jobs, key, { propagation: 'Background' })
  })

  test('a strategic merge patch replaces atomic lists, and supports $patch and $deleteFromPrimitiveList', async () => {
    const { kube, namespace, name } = context()
    const strategic = { contentType: 'application/strategic-merge-patch+json' }
    const key = { namespace, name: name() }
    const finalizers = ['multinic.io/a', 'multinic.io/b']
    const metadata = { ...key, finalizers }
    await kube.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data: { a: 'MQ==' } })
    const patch = {
      metadata: { finalizers: ['multinic.io/c'], '$deleteFromPrimitiveList/finalizers': ['multinic.io/a'] },
      data: { $patch: 'replace', b: 'Mg==' },
    }
    const secret = (await kube.raw('PATCH', objectPath(secrets, key), patch, strategic)).body as SecretObject
    assert.deepEqual(secret.metadata.finalizers?.toSorted(), ['multinic.io/b', 'multinic.io/c'])
    assert.deepEqual(secret.data, { b: 'Mg==' })
    await kube.patch(secrets, key, { metadata: { finalizers: null } })

    const account = { namespace, name: name() }
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`
    const secretList = [{ name: 'a' }, { name: 'b' }]
    await kube.raw('POST', accounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: account,
      secrets: secretList,
    })
    const items = {
      secrets: [{ name: 'a', $patch: 'delete' }, { name: 'c' }],
      '$setElementOrder/secrets': [{ name: 'b' }, { name: 'c' }],
    }
    const merged = (await kube.raw('PATCH', `${accounts}/${account.name}`, items, strategic)).body
    assert.deepEqual((merged as typeof items).secrets, [{ name: 'b' }, { name: 'c' }])

    const node = `conformance-${namespace}-${name()}`
    const taints = [{ key: 'a', effect: 'NoSchedule' }]
    await kube.raw('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: node },
      spec: { taints },
    })
    const replaced = { spec: { taints: [{ key: 'b', effect: 'NoSchedule' }] } }
    const { body } = await kube.raw('PATCH', `/api/v1/nodes/${node}?dryRun=All`, replaced, strategic)
    const { spec } = body as { spec: { taints: { key: string }[] } }
    assert.ok(!spec.taints.some(taint => taint.key === 'a'))
    await kube.delete(nodes, { name: node })
  })

  test('the server generates a name from generateName', async () => {
    const { kube, namespace } = context()
    const { name: _, ...rest } = aNodeConfig(context(), 'generated').metadata
    const body = { ...aNodeConfig(context(), 'generated'), metadata: { ...rest, generateName: 'generated-' } }
    const created = (await kube.raw('POST', collectionPath(nodeConfigs, namespace), body)).body as {
      metadata: { name: string }
    }
    assert.match(created.metadata.name, /^generated-[a-z0-9]{5}$/)
    await kube.delete(nodeConfigs, { namespace, name: created.metadata.name })
  })

  test('unknown fields are dropped with a warning, or rejected with fieldValidation=Strict', async () => {
    const { kube, namespace, name } = context()
    const path = (mode: string) => `${collectionPath(nodeConfigs, namespace)}?fieldValidation=${mode}`
    const odd = (own: string) =>
      aNodeConfig(context(), own, { spec: { surprise: 1, interfaces: [{ ...nic(0), odd: 1 }] } })
    const strict = await rejection(kube.raw('POST', path('Strict'), odd(name())))
    assert.equal(strict.status, 400)
    assert.match(
      strict.message,
      /strict decoding error: unknown field "spec\.interfaces\[0\]\.odd", unknown field "spec\.surprise"/,
    )
    const key = { namespace, name: name() }
    const { headers } = await kube.raw('POST', path('Warn'), odd(key.name))
    assert.match(String(headers['warning']), /299 - "unknown field \\"spec\.surprise\\""/)
    const patch = { contentType: 'application/merge-patch+json' }
    const patched = kube.raw(
      'PATCH',
      `${objectPath(nodeConfigs, key)}?fieldValidation=Strict`,
      { spec: { more: 1 } },
      patch,
    )
    assert.match((await rejection(patched)).message, /unknown field "spec\.more"/)
    assert.equal((await rejection(kube.raw('POST', path('Perhaps'), odd(name())))).status, 422)
  })

  test('unknown fields and wrong types of built-in kinds are detected', async () => {
    const { kube, namespace, name } = context()
    const post = (spec: object, query = '') => {
      const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { namespace, name: name() }, spec }
      return kube.raw('POST', `${collectionPath(jobs, namespace)}?dryRun=All${query}`, job)
    }
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'none', comand: ['x'] }] } }
    const strict = await rejection(post({ template }, '&fieldValidation=Strict'))
    assert.match(strict.message, /unknown field "spec\.template\.spec\.containers\[0\]\.comand"/)
    const { body } = await post({ template })
    assert.doesNotMatch(JSON.stringify(body), /comand/)
    const wrong = await rejection(post({ template, backoffLimit: 'many' }))
    assert.equal(wrong.status, 400)
    assert.match(wrong.message, /cannot be handled as a Job: json: cannot unmarshal string into Go struct field/)
  })

  test('YAML is accepted and returned; other media types are rejected', async () => {
    const { kube, namespace, name } = context()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(context(), key.name))
    const path = objectPath(nodeConfigs, key)
    const { body } = await kube.raw('GET', path, undefined, { accept: 'application/yaml' })
    assert.equal(parse(String(body)).spec.nodeName, key.name)
    assert.equal((await rejection(kube.raw('GET', path, undefined, { accept: 'text/html' }))).status, 406)
    const plain = kube.raw('POST', collectionPath(nodeConfigs, namespace), {}, { contentType: 'text/plain' })
    assert.equal((await rejection(plain)).status, 415)
  })
}
