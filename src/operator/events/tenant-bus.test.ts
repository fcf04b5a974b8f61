/** A message bus that a tenant names tells it nothing about closed ports and other services. */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { openStackBuses } from '../../openstack/bus.ts'
import { createLog } from '../../telemetry/log.ts'
import { resolveSettings } from '../config.ts'
import { createCloudEvents } from './cloud-events.ts'

const env = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }

async function listenOn(answer: string) {
  const server = createServer(socket => {
    socket.on('error', () => {})
    socket.resume().end(answer)
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  return { port, close: () => new Promise(resolve => server.close(resolve)) }
}

/** The message of the condition, and the log. */
async function messageOf(port: number, namespace: string): Promise<{ message: string; log: string }> {
  const lines: string[] = []
  const events = createCloudEvents({
    enabled: true,
    buses: openStackBuses,
    own: { password: async () => undefined },
    isAllowedHost: () => true,
    isOwnNamespace: name => name === 'own',
    wake: () => {},
    canTarget: () => true,
    metrics: { notification() {}, bus() {} },
    log: createLog({}, { write: line => void lines.push(line) }),
  })
  const spec = { secrets: { rabbitmqSecretRef: { name: 'bus' } } }
  const account: Record<string, string> = {
    RABBITMQ_URLS: `amqp://127.0.0.1:${port}`,
    RABBITMQ_USER: 'u',
    RABBITMQ_PASSWORD: 'p',
  }
  try {
    await events.follow({ metadata: { name: 'main', namespace }, spec } as unknown as OpenstackConfig, {
      settings: resolveSettings(env),
      bus: undefined,
      secret: async (_, __, key) => account[key],
      interest: () => new Set(),
    })
    const state = () => events.stateOf(`${namespace}/main`)
    await eventually(() => assert.equal(state()?.state, 'unreachable'))
    return { message: (state()?.message ?? '').replace(String(port), 'PORT'), log: lines.join('') }
  } finally {
    await events.close()
  }
}

test('a closed port and another service look alike to a tenant, and the log of the operator has the cause', async () => {
  const web = await listenOn('HTTP/1.1 404 Not Found\r\nthe secret page\r\n\r\n')
  const silentOne = await listenOn('')
  const closed = await listenOn('')
  await closed.close()
  try {
    const expected = '127.0.0.1:PORT: no usable answer; the log of the operator has the details'
    for (const { port } of [closed, web, silentOne]) assert.equal((await messageOf(port, 'team')).message, expected)
    assert.match((await messageOf(closed.port, 'team')).log, /ECONNREFUSED/)
    assert.match((await messageOf(closed.port, 'own')).message, /ECONNREFUSED/)
  } finally {
    await Promise.all([web.close(), silentOne.close()])
  }
})
