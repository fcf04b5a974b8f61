/** Verdicts with two replicas of the inventory on one PostgreSQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'undici'
import { startPostgres } from '../../test/rigs/postgres/rig.ts'
import { aWrite, someVerdicts } from '../../test/support/inventory.ts'
import { verdictsAnswer, verdictsPath } from '../contract/operator-api.ts'
import { silent } from '../telemetry/log.ts'
import { startInventory } from './main.ts'

test('a verdict that is written through one replica is answered by the other, also after the first has stopped', async () => {
  await using stack = new AsyncDisposableStack()
  const server = await startPostgres()
  stack.defer(() => server.close())
  const env = {
    INVENTORY_ADDR: '127.0.0.1:0',
    INVENTORY_DATABASE_URL: await server.database('verdicts'),
    INVENTORY_DB_PATH: '/nonexistent/inventory.db',
    INVENTORY_ANONYMOUS_ACCESS: 'true',
  }
  const one = await startInventory({ env, log: silent })
  const two = await startInventory({ env, log: silent })
  stack.defer(() => two.close())
  const answerOf = async (query: string, etag = '') => {
    const { statusCode, headers, body } = await request(`${two.url}${verdictsPath}${query}`, {
      headers: etag ? { 'if-none-match': etag } : {},
    })
    const text = await body.text()
    return { status: statusCode, etag: String(headers['etag']), ...(text && verdictsAnswer.parse(JSON.parse(text))) }
  }
  assert.equal((await answerOf('')).status, 204)
  const ignored = {
    vm: 'vm-w1',
    portId: 'late',
    reason: 'PortStatusNotAllowed',
    message: 'the status of the port is BUILD',
  }
  await one.recorder.put([aWrite('w1')], [someVerdicts([ignored])])
  const first = await answerOf('?port=late')
  assert.deepEqual(
    first.verdicts?.map(({ vm, reason }) => `${vm} ${reason}`),
    ['vm-w1 PortStatusNotAllowed'],
  )
  assert.equal((await answerOf('?port=late', first.etag)).status, 304)
  await one.recorder.put([], [someVerdicts([])])
  await one.close()
  const last = await answerOf('?port=late', first.etag)
  assert.deepEqual([last.status, last.verdicts], [200, []])
})
