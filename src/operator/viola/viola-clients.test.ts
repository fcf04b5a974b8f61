/** What is kept for each Viola, and for how long. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countKept } from '../../../test/support/garbage.ts'
import { resolveSettings } from '../config.ts'
import { createViolaClients, type ViolaClients } from './viola-clients.ts'

const store = { list: async () => [], put: async () => {}, remove: async () => {} }
const env = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }

function open(clients: ViolaClients, user: string, violaToken: string) {
  const credentials = { violaToken, violaClientCertificate: false }
  return clients.open({ user, settings: resolveSettings(env), credentials, providerId: 'biz-1' })
}

/** Nothing of the test refers to the clients when it returns. */
function rotate(clients: ViolaClients): WeakRef<object>[] {
  return Array.from({ length: 50 }, (_, n) => new WeakRef(open(clients, 'team/main', `token-${n}`)))
}

test('operator 12: a tenant who rotates its token does not fill the memory', async () => {
  const clients = createViolaClients({ store })
  const rotated = rotate(clients)
  assert.equal(await countKept(rotated), 1)
  clients.forget('team/main')
  assert.equal(await countKept(rotated), 0)
  await clients.close()
})

test('objects with the same Viola and token share a client until the last one is forgotten', async () => {
  const clients = createViolaClients({ store })
  const first = open(clients, 'team/a', 'token')
  assert.equal(open(clients, 'team/b', 'token'), first)
  clients.forget('team/a')
  assert.equal(open(clients, 'team/b', 'token'), first)
  clients.forget('team/b')
  assert.notEqual(open(clients, 'team/b', 'token'), first)
  await clients.close()
})
