/** Path traversal, invalid URLs and aborted requests against the servers of the sandbox. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { request as plain } from 'node:http'
import { request as secure } from 'node:https'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createLog } from '../../src/telemetry/log.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type KubeApi, startKubeApi } from '../kube/server.ts'
import { type Cloud, startCloud } from './cloud.ts'
import { createCloudState } from './state.ts'

const failures: string[] = []
const log = createLog({}, { level: 'error', write: line => failures.push(line) })
let dir: string
let cloud: Cloud
let api: KubeApi

before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-addresses-'))
  cloud = await startCloud(createCloudState(), log)
  api = await startKubeApi({ name: 'addresses', dir, log })
})
after(async () => {
  await Promise.all([cloud.close(), api.close()])
  await rm(dir, { recursive: true })
})

/** Sends the path without normalization. */
function get(url: string, path: string): Promise<{ status: number; text: string }> {
  const { hostname: host, port, protocol } = new URL(url)
  const headers = { authorization: `Bearer ${api.token}`, connection: 'close' }
  const options = { host, port, path, headers, ca: readFileSync(api.caFile) }
  return new Promise((resolve, reject) => {
    const request = (protocol === 'https:' ? secure : plain)(options, response => {
      let text = ''
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.once('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.once('error', reject).end()
  })
}

const traversals = [
  '../../../../etc/passwd',
  '..%2f..%2f..%2f..%2fetc%2fpasswd',
  '%2e%2e/%2e%2e/%2e%2e/etc/passwd',
  '%00',
]
const paths = [
  ...['/', '//', '//etc/passwd', '/%', '/%zz/..', '/?', '/?%zz=%', '*', 'http://elsewhere/etc/passwd', 'http://['],
  ...traversals.flatMap(traversal => [
    `/${traversal}`,
    `/v3/${traversal}`,
    `/v2.0/ports/${traversal}`,
    `/v2.1/servers/${traversal}`,
    `/v1/contrabass/admin/infra/provider/${traversal}`,
    `/api/providers/${traversal}`,
    `/openapi/v3/${traversal}`,
    `/apis/${traversal}`,
    `/api/v1/namespaces/${traversal}/pods`,
    `/api/v1/namespaces/default/pods/${traversal}`,
    `/api/v1/namespaces/default/pods/${traversal}/log`,
  ]),
]

test('no path returns a file or causes a server error', async () => {
  for (const [service, url] of Object.entries({ ...cloud.urls, api: api.url }))
    for (const path of paths) {
      const { status, text } = await get(url, path)
      assert.ok(status >= 200 && status < 500, `${service} ${path}: ${status}`)
      assert.doesNotMatch(text, /root:|"private_key"|BEGIN/, `${service} ${path}`)
    }
  assert.deepEqual(failures, [])
})

test('an aborted request does not affect the server', async () => {
  for (const [service, url] of Object.entries(cloud.urls)) {
    const before = cloud.calls()[service as keyof typeof cloud.urls]
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST /v3/auth/tokens HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{')
    await eventually(() => assert.equal(cloud.calls()[service as keyof typeof cloud.urls], before + 1), {
      within: 30_000,
    })
    socket.destroy()
    assert.ok((await get(url, '/')).status < 500, service)
  }
  assert.deepEqual(failures, [])
})
