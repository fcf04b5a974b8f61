/** Addresses that ask for files, or that are none, and callers who leave: at the servers that only the sandbox has. */
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

/** The path goes over the wire as it is written. */
function asked(url: string, path: string): Promise<{ status: number; text: string }> {
  const { hostname: host, port, protocol } = new URL(url)
  const headers = { authorization: `Bearer ${api.token}`, connection: 'close' }
  const options = { host, port, path, headers, ca: readFileSync(api.caFile) }
  return new Promise((resolve, reject) => {
    const question = (protocol === 'https:' ? secure : plain)(options, answer => {
      let text = ''
      answer.setEncoding('utf8').on('data', some => {
        text += some
      })
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, text }))
    })
    question.once('error', reject).end()
  })
}

const climbs = ['../../../../etc/passwd', '..%2f..%2f..%2f..%2fetc%2fpasswd', '%2e%2e/%2e%2e/%2e%2e/etc/passwd', '%00']
const addresses = [
  ...['/', '//', '//etc/passwd', '/%', '/%zz/..', '/?', '/?%zz=%', '*', 'http://elsewhere/etc/passwd', 'http://['],
  ...climbs.flatMap(climb => [
    `/${climb}`,
    `/v3/${climb}`,
    `/v2.0/ports/${climb}`,
    `/v2.1/servers/${climb}`,
    `/v1/contrabass/admin/infra/provider/${climb}`,
    `/api/providers/${climb}`,
    `/openapi/v3/${climb}`,
    `/apis/${climb}`,
    `/api/v1/namespaces/${climb}/pods`,
    `/api/v1/namespaces/default/pods/${climb}`,
    `/api/v1/namespaces/default/pods/${climb}/log`,
  ]),
]

test('no address leads to a file, and none is a failure of a server', async () => {
  for (const [service, url] of Object.entries({ ...cloud.urls, api: api.url }))
    for (const path of addresses) {
      const { status, text } = await asked(url, path)
      assert.ok(status >= 200 && status < 500, `${service} ${path}: ${status}`)
      assert.doesNotMatch(text, /root:|"private_key"|BEGIN/, `${service} ${path}`)
    }
  assert.deepEqual(failures, [])
})

test('who leaves in the middle of a request ends nothing', async () => {
  for (const [service, url] of Object.entries(cloud.urls)) {
    const before = cloud.calls()[service as keyof typeof cloud.urls]
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    socket.write('POST /v3/auth/tokens HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{')
    await eventually(() => assert.equal(cloud.calls()[service as keyof typeof cloud.urls], before + 1), {
      within: 30_000,
    })
    socket.destroy()
    assert.ok((await asked(url, '/')).status < 500, service)
  }
  assert.deepEqual(failures, [])
})
