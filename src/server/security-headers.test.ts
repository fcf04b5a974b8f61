/** The headers that keep a browser from misusing an answer: on every answer of every server. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { openToEveryone } from '../../test/support/access.ts'
import { createInventoryApp } from '../inventory/app.ts'
import { openStore } from '../inventory/store.ts'
import { silent } from '../telemetry/log.ts'

const paths: Record<string, number> = {
  '/': 200,
  '/docs': 200,
  '/openapi.json': 200,
  '/openapi.yaml': 200,
  '/healthz': 200,
  '/readyz': 200,
  '/metrics': 200,
  '/v1/inventory/node-configs': 200,
  '/v1/inventory/node-configs?format=csv': 200,
  '/v1/inventory/node-configs?limit=0': 400,
  '/v1/inventory/node-configs/%zz': 400,
  '/v1/nowhere': 404,
}

test('every answer has nosniff and cannot be framed, and /docs may load nothing but its own style', async t => {
  const store = await openStore({ path: ':memory:', log: silent })
  const app = createInventoryApp({ store, access: await openToEveryone(), log: silent })
  t.after(async () => {
    await app.close()
    await store.close()
  })
  for (const [url, status] of Object.entries(paths)) {
    const { statusCode, headers } = await app.inject(url)
    assert.equal(statusCode, status, url)
    assert.equal(headers['x-content-type-options'], 'nosniff', url)
    assert.equal(headers['x-frame-options'], 'DENY', url)
    assert.match(String(headers['content-security-policy']), /default-src 'none';.*frame-ancestors 'none'/, url)
  }
  const { body, headers } = await app.inject('/docs')
  const style = /<style>([^<]*)<\/style>/.exec(body)?.[1] ?? assert.fail('no style')
  const digest = createHash('sha256').update(style).digest('base64')
  assert.ok(String(headers['content-security-policy']).includes(`style-src 'sha256-${digest}'`))
})
