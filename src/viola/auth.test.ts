import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aNodeOf, aViola } from '../../test/support/viola.ts'
import { createLog } from '../telemetry/log.ts'

let biz: TargetCluster
before(async () => {
  biz = await startTargetCluster()
})
after(() => biz.close())

const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const [mine, admin, later] = ['a-token-of-provider-p1', 'a-token-for-all-providers', 'a-token-that-comes-later']

test('tokens authorize callers per provider, and a changed token file applies without a restart', async () => {
  const lines: string[] = []
  const path = join(biz.dir, 'tokens.yaml')
  const tokens = [
    { name: 'team-1', token: mine, providers: ['p1'] },
    { name: 'admin', sha256: createHash('sha256').update(admin).digest('hex'), providers: ['*'] },
  ]
  writeFileSync(path, stringify({ tokens }))
  const log = createLog({}, { write: line => lines.push(line) })
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig, VIOLA_TOKENS_FILE: path }, log)
  try {
    const missing = await viola.post([aNodeOf('a')])
    assert.equal(missing.status, 401)
    assert.equal(missing.headers['www-authenticate'], 'Bearer')
    assert.equal((await viola.post([aNodeOf('a')], bearer('an-unknown-token'))).status, 401)
    assert.equal((await viola.list()).status, 401)
    assert.equal((await viola.remove('a')).status, 401)

    assert.equal((await viola.post([aNodeOf('a')], bearer(mine))).status, 200)
    const foreign = await viola.post([aNodeOf('b')], { provider: 'p2', ...bearer(mine) })
    assert.equal(foreign.status, 403)
    assert.match(foreign.json.detail, /team-1 may not act for provider p2/)
    assert.equal((await viola.post([aNodeOf('b')], { provider: 'p2', ...bearer(admin) })).status, 200)

    // The same VM with another provider ID, from a caller that may act only for that provider.
    const claimed = await viola.post([aNodeOf('b')], bearer(mine))
    assert.equal(claimed.status, 409)
    assert.match(claimed.json.detail, /belongs to provider p2, and the caller may not act for it/)

    writeFileSync(path, stringify({ tokens: [{ name: 'later', token: later, providers: ['p1'] }] }))
    assert.equal((await viola.list('', bearer(later))).status, 200)
    assert.equal((await viola.list('', bearer(mine))).status, 401)

    writeFileSync(path, 'tokens: [{ name: x, token: short }]')
    assert.equal((await viola.list('', bearer(later))).status, 200)
    assert.match((await viola.ask('GET', '/readyz')).json.warnings[0], /tokens: .*tokens\[0\]\.token: must have/)

    assert.equal((await viola.ask('GET', '/healthz')).status, 200)
    const audit = lines.filter(line => line.includes('node configs created')).map(line => JSON.parse(line))
    assert.deepEqual(
      audit.map(({ caller, provider, nodes }) => [caller, provider, nodes]),
      [
        ['team-1', 'p1', ['a']],
        ['admin', 'p2', ['b']],
      ],
    )
    await viola.remove('a', bearer(later))
    const removal = JSON.parse(lines.find(line => line.includes('node config deleted')) ?? '{}')
    assert.deepEqual([removal.caller, removal.provider, removal.node], ['later', 'p1', 'a'])
    assert.ok(!lines.some(line => [mine, admin, later].some(token => line.includes(token))))
  } finally {
    await viola.close()
  }
})

test('without a token file everyone may write, with a warning at startup and in /readyz', async () => {
  const lines: string[] = []
  const viola = await aViola({ KUBECONFIG: biz.api.kubeconfig }, createLog({}, { write: line => lines.push(line) }))
  try {
    assert.match(lines.join(''), /"level":"warn","message":"authentication is off/)
    assert.match((await viola.ask('GET', '/readyz')).json.warnings[0], /authentication is off/)
  } finally {
    await viola.close()
  }
})
