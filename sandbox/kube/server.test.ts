import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Agent, request } from 'undici'
import { parse } from 'yaml'
import { silent } from '../../src/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import { aWidget, widgetDefinition } from './cluster.fixture.ts'
import { type KubeApi, startKubeApi } from './server.ts'

let dir: string
let api: KubeApi
let agent: Agent

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-kube-'))
  api = await startKubeApi({ name: 'test', dir, log: silent })
  agent = new Agent({ connect: { ca: await readFile(api.caFile, 'utf8') } })
  await ask('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition())
})

after(async () => {
  await agent.close()
  await api.close()
  await rm(dir, { recursive: true })
})

interface Answer {
  code: number
  type: string
  warning: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever JSON comes
  body: any
}

async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await request(`${api.url}${path}`, {
    dispatcher: agent,
    method,
    headers: {
      authorization: `Bearer ${api.token}`,
      'content-type': 'application/json',
      'user-agent': 'test/1',
      ...headers,
    },
    body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
  })
  const text = await answer.body.text()
  const type = String(answer.headers['content-type'])
  return {
    code: answer.statusCode,
    type,
    warning: String(answer.headers['warning'] ?? ''),
    body: type.includes('json') && !path.includes('watch=') ? JSON.parse(text) : text,
  }
}

const widgets = '/apis/test.example.com/v1/namespaces/default/widgets'
const widget = (name: string, spec = {}, metadata = {}) => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Widget',
  ...aWidget(name, spec, metadata),
})

test('only who has the token gets in; health and version are open', async () => {
  const stranger = { authorization: 'Bearer nobody' }
  assert.equal((await ask('GET', '/api/v1/nodes', undefined, stranger)).body.reason, 'Unauthorized')
  assert.equal((await ask('GET', '/readyz', undefined, stranger)).body, 'ok')
  assert.equal((await ask('GET', '/version', undefined, stranger)).body.major, '1')
})

test('the kubeconfig is for its owner alone and says where, who and whom to trust', async () => {
  const config = parse(await readFile(api.kubeconfig, 'utf8'))
  assert.equal((await stat(api.kubeconfig)).mode & 0o777, 0o600)
  assert.equal(config['current-context'], 'test')
  assert.equal(config.clusters[0].cluster.server, api.url)
  assert.equal(config.users[0].user.token, api.token)
})

test('an object is made, read, changed and deleted', async () => {
  assert.equal((await ask('POST', widgets, widget('http'))).code, 201)
  assert.equal((await ask('GET', `${widgets}/http`)).body.spec.size, 3)
  const patched = await ask(
    'PATCH',
    `${widgets}/http`,
    { spec: { size: 4 } },
    { 'content-type': 'application/merge-patch+json' },
  )
  assert.equal(patched.body.metadata.generation, 2)
  assert.equal(patched.body.metadata.managedFields[0].manager, 'test')
  const put = await ask('PUT', `${widgets}/http`, { ...patched.body, spec: { size: 5 } })
  assert.equal(put.body.spec.size, 5)
  assert.equal((await ask('DELETE', `${widgets}/http`)).body.status, 'Success')
  assert.equal((await ask('GET', `${widgets}/http`)).code, 404)
})

test('an apply comes as YAML too, and makes what is not there', async () => {
  const yaml = 'apiVersion: test.example.com/v1\nkind: Widget\nmetadata: {name: yaml}\nspec: {size: 2}\n'
  const headers = { 'content-type': 'application/apply-patch+yaml' }
  assert.equal((await ask('PATCH', `${widgets}/yaml?fieldManager=me`, yaml, headers)).code, 201)
  assert.equal((await ask('PATCH', `${widgets}/yaml?fieldManager=me`, yaml, headers)).code, 200)
  assert.equal((await ask('PATCH', `${widgets}/yaml`, yaml, headers)).code, 422)
})

test('both versions show one object', async () => {
  await ask('POST', widgets, widget('twofold'))
  const alpha = await ask('GET', `${widgets.replace('/v1/', '/v1alpha1/')}/twofold`)
  assert.equal(alpha.body.apiVersion, 'test.example.com/v1alpha1')
  assert.equal((await ask('GET', `${widgets}/twofold`)).body.apiVersion, 'test.example.com/v1')
})

test('pages together are the list', async () => {
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    await ask('POST', widgets, widget(`page-${name}`, {}, { labels: { page: 'yes' } }))
  }
  const names: string[] = []
  let next = ''
  do {
    const page = await ask('GET', `${widgets}?labelSelector=page&limit=2&continue=${next}`)
    names.push(...page.body.items.map((item: { metadata: { name: string } }) => item.metadata.name))
    next = page.body.metadata.continue ?? ''
  } while (next)
  assert.deepEqual(names, ['page-a', 'page-b', 'page-c', 'page-d', 'page-e'])
})

test('a table is what kubectl shows', async () => {
  await ask('POST', widgets, widget('shown'))
  const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json'
  const { body } = await ask('GET', `${widgets}/shown`, undefined, { accept })
  assert.deepEqual(
    body.columnDefinitions.map((one: { name: string }) => one.name),
    ['Name', 'Size', 'Reason', 'Color'],
  )
  assert.deepEqual(body.rows[0].cells, ['shown', 3, null, 'grey'])
  assert.equal(body.rows[0].object.kind, 'PartialObjectMetadata')
})

test('a watch tells, ends in time, and sends a bookmark before it ends', async () => {
  const { body: list } = await ask('GET', widgets)
  const path = `${widgets}?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=${list.metadata.resourceVersion}`
  const told = ask('GET', path)
  await ask('POST', widgets, widget('watched'))
  await ask('DELETE', `${widgets}/watched`)
  const lines = (await told).body
    .trim()
    .split('\n')
    .map((line: string) => JSON.parse(line))
  assert.deepEqual(
    lines.map((line: { type: string }) => line.type),
    ['ADDED', 'DELETED', 'BOOKMARK'],
  )
  assert.equal(lines[2].object.metadata.resourceVersion, String(api.store.version()))
})

test('a watch from too long ago is told so in its own words', async () => {
  const { body } = await ask('GET', `${widgets}?watch=true&resourceVersion=1`)
  const { type, object } = JSON.parse(body)
  assert.deepEqual([type, object.code, object.reason], ['ERROR', 410, 'Expired'])
})

test('an unknown field is a warning, or an error when strictness is asked for', async () => {
  const loose = await ask('POST', widgets, widget('loose', { typo: 1 }))
  assert.equal(loose.warning, '299 - "unknown field \\"spec.typo\\""')
  assert.equal((await ask('POST', `${widgets}?fieldValidation=Strict`, widget('strict', { typo: 1 }))).code, 400)
})

test('a path that is not served is no Status, a method that is not is', async () => {
  assert.equal((await ask('GET', '/apis/nothing.example.com/v1/things')).body, '404 page not found\n')
  assert.equal((await ask('POST', `${widgets}/x`, {})).code, 405)
  assert.equal((await ask('POST', widgets, '{')).code, 400)
})

test('everything that matches is deleted at once', async () => {
  await ask('POST', widgets, widget('gone-1', {}, { labels: { gone: 'yes' } }))
  await ask('POST', widgets, widget('gone-2', {}, { labels: { gone: 'yes' } }))
  assert.equal((await ask('DELETE', `${widgets}?labelSelector=gone=yes`)).body.items.length, 2)
  assert.equal((await ask('GET', `${widgets}?labelSelector=gone=yes`)).body.items.length, 0)
})

test('the log of a Pod comes from whoever runs it', async () => {
  const pods = '/api/v1/namespaces/default/pods'
  await ask('POST', pods, { metadata: { name: 'p' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] } })
  assert.equal((await ask('GET', `${pods}/p/log`)).code, 400)
  let log = 'one\ntwo\n'
  api.setPodLogs((namespace, name) => (namespace === 'default' && name === 'p' ? log : undefined))
  assert.equal((await ask('GET', `${pods}/p/log`)).body, 'one\ntwo\n')
  assert.equal((await ask('GET', `${pods}/p/log?tailLines=1`)).body, 'two\n')
  const followed = ask('GET', `${pods}/p/log?follow=true`)
  log += 'three\n'
  const headers = { 'content-type': 'application/merge-patch+json' }
  await ask('PATCH', `${pods}/p/status`, { status: { phase: 'Succeeded' } }, headers)
  assert.equal((await followed).body, 'one\ntwo\nthree\n')
  assert.equal((await ask('GET', `${pods}/none/log`)).code, 404)
})

test('the holder of the token may do everything, and whom it speaks for what Roles give', async () => {
  const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
  const spec = { resourceAttributes: { verb: 'delete', resource: 'secrets', namespace: 'default' } }
  const joe = { 'impersonate-user': 'joe' }
  assert.equal((await ask('POST', path, { spec })).body.status.allowed, true)
  assert.equal((await ask('POST', path, { spec }, joe)).body.status.allowed, false)
  assert.equal((await ask('POST', path, { spec: {} })).code, 422)
  const refused = await ask('DELETE', '/api/v1/namespaces/default/secrets/s', undefined, joe)
  assert.equal(refused.code, 403)
  assert.match(refused.body.message, /User "joe" cannot delete resource "secrets" in API group "" in the namespace/)
})

test('a token is known or not', async () => {
  const review = async (token: string) => {
    return (await ask('POST', '/apis/authentication.k8s.io/v1/tokenreviews', { spec: { token } })).body.status
  }
  assert.equal((await review(api.token)).user.username, 'sandbox-admin')
  assert.deepEqual(await review('nobody'), { user: {}, error: 'invalid bearer token' })
})

test('a snapshot carries everything over a restart, at the same address if asked for', async t => {
  const place = await mkdtemp(join(tmpdir(), 'multinic-kube-'))
  const snapshot = join(place, 'objects.json')
  t.after(() => rm(place, { recursive: true }))
  const session = async (port: number, work: (from: KubeApi, call: Call) => Promise<void>) => {
    const kept = await startKubeApi({ name: 'kept', dir: place, log: silent, snapshot, port })
    const reader = new Agent({ connect: { ca: await readFile(kept.caFile, 'utf8') } })
    try {
      await work(kept, async (path, body) => {
        const answer = await request(`${kept.url}${path}`, {
          dispatcher: reader,
          method: body ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${kept.token}`, 'content-type': 'application/json' },
          body: body ? JSON.stringify(body) : null,
        })
        return { code: answer.statusCode, text: await answer.body.text() }
      })
    } finally {
      await reader.close()
      await kept.close()
    }
  }
  let before = { url: '', code: 0, text: '' }
  await session(0, async (from, call) => {
    await call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition())
    await call(widgets, widget('kept'))
    before = { url: from.url, ...(await call(`${widgets}/kept`)) }
    await eventually(() => stat(snapshot))
  })
  await session(Number(new URL(before.url).port), async (from, call) => {
    assert.deepEqual({ url: from.url, ...(await call(`${widgets}/kept`)) }, before)
    assert.equal(before.code, 200)
  })
})

type Call = (path: string, body?: object) => Promise<{ code: number; text: string }>
