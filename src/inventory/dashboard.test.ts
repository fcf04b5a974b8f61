import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import { buildWeb } from '../../web/build.ts'
import { silent } from '../telemetry/log.ts'
import { serveDashboard } from './dashboard.ts'

let dir: string
let app: FastifyInstance
let files: string[]

before(async () => {
  dir = mkdtempSync(join(tmpdir(), 'multinic-web-'))
  files = await buildWeb(dir)
  app = Fastify()
  serveDashboard(app, dir, silent)
})
after(async () => {
  await app.close()
  rmSync(dir, { recursive: true })
})

test('the content security policy of the page forbids inline code and other origins', async () => {
  const answer = await app.inject('/')
  assert.equal(answer.statusCode, 200)
  assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
  const policy = String(answer.headers['content-security-policy'])
  assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
  assert.doesNotMatch(policy, /unsafe|https?:|\*/)
  assert.doesNotMatch(answer.body, /<style|style="|<script(?![^>]*src=)| on\w+="/)
  assert.equal(answer.headers['cache-control'], 'no-cache')
})

test('every file that the page or its script loads is served, with a content hash in its name', async () => {
  const page = (await app.inject('/')).body
  const assets = [...page.matchAll(/(?:src|href)="(\/assets[^"]+)"/g)].map(([, path = '']) => path)
  const script = (await app.inject(assets.find(path => path.endsWith('.js')) ?? '')).body
  const chunks = [...script.matchAll(/import\("\.(\/[^"]+)"\)/g)].map(([, path = '']) => `/assets${path}`)
  const loaded = [...assets, ...chunks]
  assert.deepEqual(loaded.map(path => path.slice(1)).sort(), files.filter(path => path !== 'index.html').sort())
  for (const path of loaded) {
    const answer = await app.inject(path)
    assert.equal(answer.statusCode, 200, path)
    assert.match(String(answer.headers['cache-control']), /immutable/)
    assert.doesNotMatch(answer.body, /https?:\/\/(?!www\.w3\.org\/)/, `${path} points at no other server`)
  }
})

test('clients that accept compression get the same content compressed', async () => {
  const plain = await app.inject('/')
  for (const [encoding, open] of [
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const) {
    const answer = await app.inject({ url: '/', headers: { 'accept-encoding': encoding } })
    assert.equal(answer.headers['content-encoding'], encoding)
    assert.equal(open(answer.rawPayload).toString(), plain.body)
  }
  assert.equal(plain.headers['content-encoding'], undefined)
})

test('a client with the current ETag gets a 304', async () => {
  const { etag = '' } = (await app.inject('/')).headers
  assert.equal((await app.inject({ url: '/', headers: { 'if-none-match': etag } })).statusCode, 304)
})

test('only files of the bundle are served', async () => {
  for (const url of ['/assets/', '/assets/../../package.json', '/index.html.br', '/assets/none.js'])
    assert.equal((await app.inject(url)).statusCode, 404, url)
})

test('without a bundle the page links to the API documentation', async () => {
  const bare = Fastify()
  serveDashboard(bare, join(dir, 'nowhere'), silent)
  const answer = await bare.inject('/')
  assert.equal(answer.statusCode, 200)
  assert.match(answer.body, /href="\/docs"/)
  await bare.close()
})
