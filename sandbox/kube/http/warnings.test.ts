/** Warnings about unknown fields. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startTargetCluster, type TargetCluster } from '../../../test/support/target-cluster.ts'

let biz: TargetCluster
before(async () => {
  biz = await startTargetCluster()
})
after(() => biz.close())

const path = '/apis/multinic.io/v1/namespaces/multinic-system/multinicnodeconfigs'
const valid = {
  apiVersion: 'multinic.io/v1',
  kind: 'MultiNicNodeConfig',
  metadata: { name: 'w1' },
  spec: { nodeName: 'w1', interfaces: [] },
}

test('a warning about a key that a header cannot contain is escaped', async () => {
  const { status, headers } = await biz.kube.raw('POST', path, { ...valid, ключ: 1 })
  assert.equal(status, 201)
  assert.match(String(headers['warning']), /unknown field \\"\?{4}\\"/)
})
