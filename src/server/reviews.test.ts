import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { connectKube } from '../kube/client.ts'
import { openReviews, type Reviews } from './reviews.ts'

let api: HttpStub
let reviews: Reviews
let now = 0
let allowed = true
/** Requests wait for this. */
let gate: Promise<void> | undefined

function groupsOf(token = ''): unknown[] {
  if (token.endsWith('many-groups')) return Array.from({ length: 50_000 }, (_, n) => `group-${n}`)
  return token.endsWith('other-groups') ? [{}] : ['network-team']
}

before(async () => {
  api = await serve(async ({ body }, response) => {
    await gate
    const { kind, spec } = body as { kind: string; spec: { token?: string } }
    if (kind === 'SubjectAccessReview') return json(response, 201, { status: { allowed } })
    const known = spec.token?.startsWith('token-of-jane')
    const user = { username: 'jane', groups: groupsOf(spec.token), uid: '7', extra: { device: ['laptop'] } }
    const audiences = spec.token === 'token-of-jane-elsewhere' ? ['another'] : ['multinic']
    return json(response, 201, { status: known ? { authenticated: true, user, audiences } : {} })
  })
  reviews = openReviews(connectKube({ server: api.url }), 'multinic', () => now)
})
after(async () => {
  await reviews.close()
  await api.close()
})

const right = { verb: 'update', group: 'multinic.io', resource: 'providers', name: 'p1' } as const
const count = (kind: string) => api.requests.filter(({ body }) => (body as { kind: string }).kind === kind).length

test('a token is reviewed with our audience, and again after a minute', async () => {
  const jane = { user: 'jane', groups: ['network-team'], uid: '7', extra: { device: ['laptop'] } }
  for (let i = 0; i < 5; i++) assert.deepEqual(await reviews.userOf('token-of-jane'), jane)
  assert.equal(count('TokenReview'), 1)
  assert.deepEqual((api.requests[0]?.body as { spec: object }).spec, {
    token: 'token-of-jane',
    audiences: ['multinic'],
  })
  now += 60_001
  await reviews.userOf('token-of-jane')
  assert.equal(count('TokenReview'), 2)
  assert.equal(await reviews.userOf('token-of-jane-elsewhere'), undefined, 'an API server that ignores audiences')
})

test('a right is reviewed for the whole identity, and a revoked one is gone after ten seconds', async () => {
  const jane = (await reviews.userOf('token-of-jane')) ?? assert.fail()
  assert.equal(await reviews.isAllowed(jane, right), true)
  assert.equal(await reviews.isAllowed(jane, right), true)
  assert.equal(count('SubjectAccessReview'), 1)
  const sent = api.requests.at(-1)?.body as { spec: Record<string, unknown> }
  assert.deepEqual(sent.spec, {
    ...{ user: 'jane', groups: ['network-team'], uid: '7', extra: { device: ['laptop'] } },
    resourceAttributes: right,
  })
  await reviews.isAllowed({ ...jane, groups: [] }, right)
  await reviews.isAllowed(jane, { ...right, name: 'p2' })
  assert.equal(count('SubjectAccessReview'), 3)
  allowed = false
  now += 10_001
  assert.equal(await reviews.isAllowed(jane, right), false)
})

test('a user of excessive length is refused, and one of another form is unknown', async () => {
  await assert.rejects(reviews.userOf('token-of-jane-with-many-groups'), { status: 503, message: /the user is longer/ })
  assert.equal(await reviews.userOf('token-of-jane-with-other-groups'), undefined)
})

test('a flood of unknown tokens is refused, and known callers are served meanwhile', async () => {
  await reviews.userOf('token-of-jane')
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const before = api.requests.length
  const flood = Array.from({ length: 5_000 }, (_, i) => reviews.userOf(`unknown-${i}`).then(String, String))
  assert.equal((await reviews.userOf('token-of-jane'))?.user, 'jane')
  resolve()
  const results = await Promise.all(flood)
  assert.equal(results.filter(text => /too many callers/.test(text)).length, 4_900)
  assert.equal(api.requests.length - before, 100)
  gate = undefined
  assert.equal(await reviews.userOf('unknown-4999'), undefined)
})

test('a flood of unknown tokens does not keep out a caller whose last review is a minute old', async () => {
  const jane = (await reviews.userOf('token-of-jane')) ?? assert.fail()
  const { promise, resolve } = Promise.withResolvers<void>()
  gate = promise
  const flood = Array.from({ length: 200 }, (_, i) => reviews.userOf(`stranger-${i}`).catch(String))
  now += 60_001
  const served = [reviews.userOf('token-of-jane').then(user => user?.user), reviews.isAllowed(jane, right)]
  resolve()
  assert.deepEqual(await Promise.all(served), ['jane', false])
  await Promise.all(flood)
  gate = undefined
})

test('a review on a connection without an answer is repeated, and one that fails twice is a 503', async t => {
  const { promise, resolve } = Promise.withResolvers<void>()
  let silent = 1
  const silentAtFirst = await serve(async (_, response) => {
    if (silent-- > 0) await promise
    json(response, 201, { status: { allowed: true } })
  })
  const some = openReviews(connectKube({ server: silentAtFirst.url }, { requestTimeoutMs: 200 }), 'multinic')
  t.after(async () => {
    resolve()
    await some.close()
    await silentAtFirst.close()
  })
  const jane = { user: 'jane', groups: [] }
  assert.equal(await some.isAllowed(jane, right), true)
  silent = 2
  await assert.rejects(some.isAllowed(jane, { ...right, name: 'p2' }), { status: 503, message: /no response within/ })
  assert.equal(silentAtFirst.requests.length, 4)
})
