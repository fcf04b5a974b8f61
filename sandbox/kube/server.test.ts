import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises'
import { request as httpsRequest } from 'node:https'
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

interface Response {
  code: number
  type: string
  warning: string
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any JSON
  body: any
}

async function ask(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  const response = await request(`${api.url}${path}`, {
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
  const text = await response.body.text()
  const type = String(response.headers['content-type'])
  return {
    code: response.statusCode,
    type,
    warning: String(response.headers['warning'] ?? ''),
    body: type.includes('json') && !path.includes('watch=') ? JSON.parse(text) : text,
  }
}

const widgets = '/apis/test.example.com/v1/namespaces/default/widgets'
const widget = (name: string, spec = {}, metadata = {}) => ({
  apiVersion: 'test.example.com/v1',
  kind: 'Widget',
  ...aWidget(name, spec, metadata),
})

test('requests need the token; health and version do not', async () => {
  const wrongToken = { authorization: 'Bearer nobody' }
  assert.equal((await ask('GET', '/api/v1/nodes', undefined, wrongToken)).body.reason, 'Unauthorized')
  assert.equal((await ask('GET', '/readyz', undefined, wrongToken)).body, 'ok')
  assert.equal((await ask('GET', '/version', undefined, wrongToken)).body.major, '1')
})

test('the kubeconfig is readable by its owner only and contains URL, token and CA', async () => {
  const config = parse(await readFile(api.kubeconfig, 'utf8'))
  assert.equal((await stat(api.kubeconfig)).mode & 0o777, 0o600)
  assert.equal(config['current-context'], 'test')
  assert.equal(config.clusters[0].cluster.server, api.url)
  assert.equal(config.users[0].user.token, api.token)
})

test('a watch sends a bookmark before its timeout', async () => {
  const { body: list } = await ask('GET', widgets)
  const path = `${widgets}?watch=true&allowWatchBookmarks=true&timeoutSeconds=3&resourceVersion=${list.metadata.resourceVersion}`
  const watching = ask('GET', path)
  await ask('POST', widgets, widget('watched'))
  await ask('DELETE', `${widgets}/watched`)
  const lines = (await watching).body
    .trim()
    .split('\n')
    .map((line: string) => JSON.parse(line))
  assert.deepEqual(
    lines.map((line: { type: string }) => line.type),
    ['ADDED', 'DELETED', 'BOOKMARK'],
  )
  assert.equal(lines[2].object.metadata.resourceVersion, String(api.store.version()))
})

test('the log of a Pod comes from the configured source', async () => {
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

test('the log of a Pod has the options of a real server', async () => {
  const log = '/api/v1/namespaces/default/pods/logged/log'
  const pod = { metadata: { name: 'logged' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] } }
  await ask('POST', '/api/v1/namespaces/default/pods', pod)
  const [old, recent] = ['2026-01-01T10:00:00.000Z', new Date().toISOString()]
  const lines = [`{"time":"${old}","message":"one"}`, 'a trace', `{"time":"${recent}","message":"two"}`]
  api.setPodLogs((_namespace, _name, previous) => (previous ? 'crashed\n' : `${lines.join('\n')}\n`))
  const read = async (query: string) => (await ask('GET', `${log}?${query}`)).body
  assert.equal(await read('previous=true'), 'crashed\n')
  assert.equal(await read('timestamps=true'), `${old} ${lines[0]}\n${old} ${lines[1]}\n${recent} ${lines[2]}\n`)
  assert.equal(await read('sinceSeconds=3600'), `${lines[2]}\n`)
  assert.equal(await read('sinceTime=2026-01-01T10:00:01Z'), `${lines[2]}\n`)
  assert.equal(await read('limitBytes=9&tailLines=2'), 'a trace\n{')
  assert.equal((await ask('GET', `${log}?sinceSeconds=1&sinceTime=${old}`)).code, 400)
  api.setPodLogs((_namespace, _name, previous) => (previous ? undefined : ''))
  const { code, body } = await ask('GET', `${log}?previous=true`)
  assert.deepEqual([code, body.message], [400, 'previous terminated container "c" in pod "logged" not found'])
})

for (const [subresource, hint] of [
  ['exec', /multinic sandbox shell n/],
  ['attach', /kubectl logs --follow/],
  ['portforward', /multinic sandbox shell n/],
] as const)
  test(`${subresource} is refused with a hint`, async () => {
    const pods = '/api/v1/namespaces/default/pods'
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'x' }] }
    await ask('POST', pods, { metadata: { name: subresource }, spec })
    const { code, body } = await ask('POST', `${pods}/${subresource}/${subresource}`)
    assert.equal(code, 501)
    assert.match(body.message, hint)
    assert.equal((await ask('POST', `${pods}/nobody/${subresource}`)).code, 404)
  })

test('other methods are not allowed', async () => {
  for (const method of ['TRACE', 'QUERY', 'COPY']) {
    const paths = ['/version', '/api/v1', '/api/v1/namespaces', '/api/v1/namespaces/default', `${widgets}/none`]
    for (const path of paths) assert.deepEqual([method, path, await codeOf(method, path)], [method, path, 405])
  }
})

/** undici sends only the usual methods. */
function codeOf(method: string, path: string): Promise<number | undefined> {
  const headers = { authorization: `Bearer ${api.token}` }
  return new Promise((resolve, reject) => {
    const sent = httpsRequest(`${api.url}${path}`, { method, headers, rejectUnauthorized: false }, response => {
      response.resume()
      resolve(response.statusCode)
    })
    sent.once('error', reject)
    sent.end()
  })
}

test('a Pod without a node gets the condition and the Event of a scheduler', async () => {
  const spec = { containers: [{ name: 'c', image: 'x' }] }
  await ask('POST', '/api/v1/namespaces/default/pods', { metadata: { name: 'nowhere' }, spec })
  await eventually(async () => {
    const { body } = await ask('GET', '/api/v1/namespaces/default/pods/nowhere')
    const [condition] = body.status.conditions ?? []
    assert.deepEqual(
      [condition?.type, condition?.status, condition?.reason],
      ['PodScheduled', 'False', 'Unschedulable'],
    )
    const events = (await ask('GET', '/api/v1/namespaces/default/events')).body.items
    const found = events.find((one: { involvedObject: { name: string } }) => one.involvedObject.name === 'nowhere')
    assert.equal(found?.reason, 'FailedScheduling')
    assert.match(found?.message, /the sandbox has no scheduler: set spec\.nodeName/)
  })
})
