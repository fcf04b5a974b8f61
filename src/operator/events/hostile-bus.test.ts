/** A message bus of one tenant affects no object that uses another bus. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/support/manual-clock.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { openStackBuses } from '../../openstack/bus.ts'
import { readNotification } from '../../openstack/notification.ts'
import { silent } from '../../telemetry/log.ts'
import type { BusAccess, BusListenerOptions } from '../cloud.ts'
import { resolveSettings } from '../config.ts'
import { createCloudEvents } from './cloud-events.ts'

const vm = '56b26d0f-fafa-4dab-a4a0-e913bdc53b00'
const env = { CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' }
const renamed = {
  event_type: 'compute.instance.update',
  publisher_id: 'compute.host',
  payload: { instance_id: vm, display_name: 'new-name', metadata: {} },
}

test('a notification that a tenant forged before does not hide that of the neighbour’s cloud', async () => {
  const buses = new Map<string, BusListenerOptions>()
  const listen = (access: BusAccess, options: BusListenerOptions) => {
    buses.set(access.hosts[0]?.hostname ?? '', options)
    return { close: async () => {} }
  }
  const woken: string[] = []
  const connections = new Map<string, number | undefined>()
  const clock = manualClock()
  const events = createCloudEvents({
    enabled: true,
    own: { password: async () => undefined },
    isAllowedHost: () => true,
    wake: key => void woken.push(key),
    canTarget: () => true,
    metrics: { notification() {}, bus: (bus, connected) => void connections.set(bus, connected) },
    log: silent,
    clock,
    buses: { ...openStackBuses, listen },
  })
  for (const namespace of ['attacker', 'neighbour']) {
    const config = { metadata: { name: 'main', namespace }, spec: {} } as unknown as OpenstackConfig
    await events.follow(config, {
      settings: resolveSettings(env),
      bus: { urls: [`amqp://bus-of-${namespace}/`], user: 'u', password: 'p' },
      secret: async () => undefined,
      interest: () => new Set([`server ${vm}`]),
    })
  }
  for (const namespace of ['attacker', 'neighbour']) {
    buses.get(`bus-of-${namespace}`)?.onMessage(readNotification(renamed))
    clock.advance(1_000)
  }
  assert.deepEqual(woken, ['attacker/main', 'neighbour/main'])
  const connect = (state: 'connected' | 'unreachable') => buses.get('bus-of-neighbour')?.onState({ state, message: '' })
  connect('connected')
  assert.deepEqual([...connections], [['bus-of-neighbour:5672', 1]])
  connect('unreachable')
  assert.deepEqual([...connections], [['bus-of-neighbour:5672', 0]])
  // Otherwise a bus that no object uses would count as lost.
  events.forget('neighbour/main')
  assert.deepEqual([...connections], [['bus-of-neighbour:5672', undefined]])
  await events.close()
})
