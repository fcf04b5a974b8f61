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

test('a snapshot restores all objects after a restart on the same port', async t => {
  const directory = await mkdtemp(join(tmpdir(), 'multinic-kube-'))
  const snapshot = join(directory, 'objects.json')
  t.after(() => rm(directory, { recursive: true }))
  const session = async (port: number, work: (server: KubeApi, call: Call) => Promise<void>) => {
    const server = await startKubeApi({ name: 'restarted', dir: directory, log: silent, snapshot, port })
    const reader = new Agent({ connect: { ca: await readFile(server.caFile, 'utf8') } })
    try {
      await work(server, async (path, body) => {
        const response = await request(`${server.url}${path}`, {
          dispatcher: reader,
          method: body ? 'POST' : 'GET',
          headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
          body: body ? JSON.stringify(body) : null,
        })
        return { code: response.statusCode, text: await response.body.text() }
      })
    } finally {
      await reader.close()
      await server.close()
    }
  }
  let before = { url: '', code: 0, text: '' }
  await session(0, async (server, call) => {
    await call('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', widgetDefinition())
    await call(widgets, widget('stored'))
    before = { url: server.url, ...(await call(`${widgets}/stored`)) }
    await eventually(() => stat(snapshot))
  })
  await session(Number(new URL(before.url).port), async (server, call) => {
    assert.deepEqual({ url: server.url, ...(await call(`${widgets}/stored`)) }, before)
    assert.equal(before.code, 200)
  })
})

type Call = (path: string, body?: object) => Promise<{ code: number; text: string }>
