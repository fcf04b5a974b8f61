import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { startTargetCluster, type TargetCluster } from '../../test/support/target-cluster.ts'
import { aViola, type Viola } from '../../test/support/viola.ts'
import { violaBodies } from '../../test/support/viola-bodies.ts'
import { violaPath } from '../contract/viola.ts'
import { nodesFrom } from './request.ts'

let biz: TargetCluster
let viola: Viola
before(async () => {
  biz = await startTargetCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
})
after(async () => {
  await viola.close()
  await biz.close()
})

test('every body is either accepted or refused with errors by path', () => {
  let accepted = 0
  fc.assert(
    fc.property(violaBodies, given => {
      const { nodes, errors } = nodesFrom(given, 'p1')
      assert.ok(nodes.length > 0 !== errors.length > 0)
      if (nodes.length > 0) accepted++
    }),
    { numRuns: 3_000 },
  )
  assert.ok(accepted > 500, `only ${accepted} of 3000 bodies were valid`)
})

test('no body makes the server or the cluster fail: the cluster accepts every accepted body', async () => {
  const provider = fc.oneof(fc.constant('p1'), fc.stringMatching(/^[\x21-\x7e]{1,20}$/))
  await fc.assert(
    fc.asyncProperty(violaBodies, provider, async (given, id) => {
      const answer = await viola.ask('POST', violaPath, {
        provider: id,
        body: JSON.stringify(given),
        headers: { 'content-type': 'application/json' },
      })
      assert.ok([200, 400, 409].includes(answer.status), `${answer.status} ${answer.body}`)
    }),
    { numRuns: 400 },
  )
})
