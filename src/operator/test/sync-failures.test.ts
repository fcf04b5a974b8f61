/** Failures of a sync that are neither of a service nor of the object. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addServer, addSubnet } from '../../../sandbox/cloud/state.ts'
import { startStubServer } from '../../../test/openstack/stub-server.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { eventually } from '../../../test/support/eventually.ts'

let environment: OperatorEnvironment

before(async () => {
  environment = await startOperatorEnvironment()
  addSubnet(environment.cloudState, { name: 'storage', cidr: '10.10.0.0/24', mtu: 9000 })
  addServer(environment.cloudState, 'worker-1')
})
after(() => environment.close())

const object = { vmNames: ['worker-1'] }

async function readyOf(name: string) {
  const { status } = await environment.config(name)
  return status?.conditions?.find(({ type }) => type === 'Ready')
}

test('a sync that takes too long has the reason SyncTimeout, with the request that did not end', async () => {
  await using viola = await startStubServer(() => ({ status: 200, hang: true }))
  const stop = await environment.startOperator({}, { maxSyncMs: 500 })
  const settings = { violaEndpoint: viola.url, violaTimeout: '60s' }
  await environment.create({ name: 'slow', ...object, settings })
  await eventually(async () => {
    const ready = await readyOf('slow')
    assert.equal(ready?.reason, 'SyncTimeout')
    assert.match(ready.message ?? '', /viola: GET .*\/node-configs.*: The operation was aborted due to timeout/)
  })
  await stop()
})

test('an error that the operator does not know has the reason UnexpectedError', async () => {
  const stop = await environment.startOperator({ VIOLA_TOKEN_FILE: '/nonexistent' })
  await environment.create({ name: 'unknown', ...object })
  await eventually(async () => assert.equal((await readyOf('unknown'))?.reason, 'UnexpectedError'))
  assert.match((await readyOf('unknown'))?.message ?? '', /ENOENT.*\/nonexistent/)
  await stop()
})
