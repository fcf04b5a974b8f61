import assert from 'node:assert/strict'
import { createDecipheriv } from 'node:crypto'
import { test } from 'node:test'
import { request } from 'undici'
import { silent } from '../../src/telemetry/log.ts'
import { startCloud } from './cloud.ts'
import { createCloudState } from './state.ts'

test('both paths return the provider, with the password encrypted by the key of the provider', async t => {
  const cloudState = createCloudState()
  const cloud = await startCloud(cloudState, silent)
  t.after(() => cloud.close())
  const get = async (path: string) => {
    const { statusCode, body } = await request(`${cloud.urls.contrabass}${path}`)
    return { status: statusCode, json: (await body.json()) as Provider }
  }
  const newer = await get(`/v1/contrabass/admin/infra/provider/${cloudState.provider.id}`)
  const older = await get(`/api/providers/${cloudState.provider.id}`)
  assert.equal(newer.json.data.url, `${cloud.urls.keystone}/v3`)
  assert.equal(older.json.data.url, newer.json.data.url)
  const encrypted = Buffer.from(newer.json.data.attributes.adminPw, 'base64')
  const key = Buffer.from(cloudState.provider.encryptKey)
  const decipher = createDecipheriv('aes-128-cbc', key, encrypted.subarray(0, 16))
  const password = Buffer.concat([decipher.update(encrypted.subarray(16)), decipher.final()]).toString()
  assert.equal(password, cloudState.user.password)
  assert.equal((await get('/api/providers/other')).status, 404)
})

interface Provider {
  data: { url: string; attributes: { adminPw: string } }
}
