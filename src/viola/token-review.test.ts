import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { stringify } from 'yaml'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aViola, type Viola } from '../../test/support/viola.ts'

const operator = 'system:serviceaccount:multinic-operator-system:multinic-operator'
const users: Record<string, string> = { 'token-of-the-operator': operator, 'token-of-somebody': 'somebody' }
let biz: TargetCluster
/** The cluster that Viola runs in; it writes to another one. */
let cluster: HttpStub
let viola: Viola
let broken = false
let audiences: string[] | undefined = ['viola-api']

before(async () => {
  biz = await startTargetCluster()
  cluster = await serve(({ body }, response) => {
    if (broken) return json(response, 403, { kind: 'Status', code: 403, message: 'tokenreviews are forbidden' })
    const { token } = (body as { spec: { token: string } }).spec
    const username = users[token]
    const status = username ? { authenticated: true, user: { username }, audiences } : { error: 'no' }
    return json(response, 201, { kind: 'TokenReview', status })
  })
  const tokens = [{ name: 'operator', user: operator, providers: ['p1'] }]
  await writeFile(join(biz.dir, 'tokens.yaml'), stringify({ tokens }))
  await writeFile(join(biz.dir, 'routing.yaml'), stringify({ default: { kubeconfig: biz.api.kubeconfig } }))
  viola = await aViola({
    KUBE_API_SERVER: cluster.url,
    KUBE_TOKEN: 'token of viola',
    ROUTING_CONFIG: join(biz.dir, 'routing.yaml'),
    VIOLA_TOKENS_FILE: join(biz.dir, 'tokens.yaml'),
    VIOLA_TOKEN_REVIEW: 'true',
    VIOLA_TOKEN_AUDIENCE: 'viola-api',
  })
})
after(async () => {
  await viola.close()
  await cluster.close()
  await biz.close()
})

const listAs = (token: string, provider = 'p1') =>
  viola.list('', { provider, headers: { authorization: `Bearer ${token}` } })
const reviews = () => cluster.requests.filter(({ path }) => path === '/apis/authentication.k8s.io/v1/tokenreviews')

test('a Kubernetes user has the providers of the token file, with one TokenReview per token', async () => {
  assert.equal((await listAs('token-of-the-operator')).status, 200)
  assert.equal((await listAs('token-of-the-operator')).status, 200)
  assert.equal(reviews().length, 1)
  assert.deepEqual((reviews()[0]?.body as { spec: object }).spec, {
    token: 'token-of-the-operator',
    audiences: ['viola-api'],
  })
  const foreign = await listAs('token-of-the-operator', 'p2')
  assert.equal(foreign.status, 403)
  assert.match(foreign.json.detail, /operator may not act for provider p2/)
})

test('a user that is not in the token file has no access', async () => {
  const answer = await listAs('token-of-somebody')
  assert.equal(answer.status, 403)
  assert.match(answer.json.detail, /user somebody has no providers/)
})

test('an unknown token is a 401', async () => {
  assert.equal((await listAs('token-of-nobody')).status, 401)
})

test('a token for another audience is a 401', async () => {
  users['token-for-another'] = operator
  audiences = undefined
  assert.equal((await listAs('token-for-another')).status, 401)
})

test('a failed TokenReview is a 503, and the next request tries again', async () => {
  users['token-during-failure'] = operator
  audiences = ['viola-api']
  broken = true
  const answer = await listAs('token-during-failure')
  assert.equal(answer.status, 503)
  assert.match(answer.json.detail, /cannot review the token: .*forbidden/)
  broken = false
  assert.equal((await listAs('token-during-failure')).status, 200)
})
