/** The ways to write: JSON and strategic merge patches, generated names, fields that nobody knows, YAML. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { nodeConfigs } from '../../../src/contract/node-config.ts'
import { collectionPath, objectPath } from '../../../src/kube/paths.ts'
import { jobs } from '../../../src/kube/resources.ts'
import { aNodeConfig, nic, type Place, present, refusal } from './place.ts'

export function writeCases(place: () => Place): void {
  test('a JSON patch is all or nothing', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name, { labels: { a: '1' } }))
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
      const error = await refusal(patch([{ op: 'add', path: '/metadata/labels/f', value: '3' }, wrong]))
      assert.equal(error.status, 422, wrong.op)
    }
    const still = await present(kube, nodeConfigs, key)
    assert.equal(still.metadata.resourceVersion, after.metadata.resourceVersion)
  })

  test('a strategic merge patch is for built-in kinds: lists with keys are merged', async () => {
    const { kube, namespace, name } = place()
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
    const told = (await kube.raw('PATCH', `${path}?dryRun=All`, { metadata: body.metadata }, strategic)).body
    assert.deepEqual((told as { metadata: { finalizers: string[] } }).metadata.finalizers, ['multinic.io/one'])
    const immutable = await refusal(kube.raw('PATCH', path, body, strategic))
    assert.match(immutable.message, /spec\.template(\.spec)?: Invalid value: .*"3".*field is immutable/s)
    assert.doesNotMatch(immutable.message, /"[Nn]ame":"B"/)
    const ours = await refusal(kube.raw('PATCH', objectPath(nodeConfigs, key), { metadata: {} }, strategic))
    assert.equal(ours.status, 415)
    await kube.delete(jobs, key, { propagation: 'Background' })
  })

  test('a name can be left to the server', async () => {
    const { kube, namespace } = place()
    const { name: _, ...rest } = aNodeConfig(place(), 'generated').metadata
    const body = { ...aNodeConfig(place(), 'generated'), metadata: { ...rest, generateName: 'made-' } }
    const made = (await kube.raw('POST', collectionPath(nodeConfigs, namespace), body)).body as {
      metadata: { name: string }
    }
    assert.match(made.metadata.name, /^made-[a-z0-9]{5}$/)
    await kube.delete(nodeConfigs, { namespace, name: made.metadata.name })
  })

  test('fields that nobody knows are dropped with a warning, or refused on request', async () => {
    const { kube, namespace, name } = place()
    const path = (mode: string) => `${collectionPath(nodeConfigs, namespace)}?fieldValidation=${mode}`
    const odd = (own: string) =>
      aNodeConfig(place(), own, { spec: { surprise: 1, interfaces: [{ ...nic(0), odd: 1 }] } })
    const strict = await refusal(kube.raw('POST', path('Strict'), odd(name())))
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
    assert.match((await refusal(patched)).message, /unknown field "spec\.more"/)
    assert.equal((await refusal(kube.raw('POST', path('Perhaps'), odd(name())))).status, 422)
  })

  test('built-in kinds know their fields and types too', async () => {
    const { kube, namespace, name } = place()
    const post = (spec: object, query = '') => {
      const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { namespace, name: name() }, spec }
      return kube.raw('POST', `${collectionPath(jobs, namespace)}?dryRun=All${query}`, job)
    }
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'none', comand: ['x'] }] } }
    const strict = await refusal(post({ template }, '&fieldValidation=Strict'))
    assert.match(strict.message, /unknown field "spec\.template\.spec\.containers\[0\]\.comand"/)
    const { body } = await post({ template })
    assert.doesNotMatch(JSON.stringify(body), /comand/)
    const wrong = await refusal(post({ template, backoffLimit: 'many' }))
    assert.equal(wrong.status, 400)
    assert.match(wrong.message, /cannot be handled as a Job: json: cannot unmarshal string into Go struct field/)
  })

  test('YAML is read and written, and what cannot be written is refused', async () => {
    const { kube, namespace, name } = place()
    const key = { namespace, name: name() }
    await kube.create(nodeConfigs, aNodeConfig(place(), key.name))
    const path = objectPath(nodeConfigs, key)
    const { body } = await kube.raw('GET', path, undefined, { accept: 'application/yaml' })
    assert.equal(parse(String(body)).spec.nodeName, key.name)
    assert.equal((await refusal(kube.raw('GET', path, undefined, { accept: 'text/html' }))).status, 406)
    const plain = kube.raw('POST', collectionPath(nodeConfigs, namespace), {}, { contentType: 'text/plain' })
    assert.equal((await refusal(plain)).status, 415)
  })
}
