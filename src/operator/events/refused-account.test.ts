/** A bus that refuses the account: the account is read again, because it may have been changed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/support/manual-clock.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import { openStackBuses } from '../../openstack/bus.ts'
import { silent } from '../../telemetry/log.ts'
import type { BusAccess, BusState } from '../cloud.ts'
import { resolveSettings } from '../config.ts'
import { createCloudEvents } from './cloud-events.ts'

const settings = resolveSettings({ CONTRABASS_ENDPOINT: 'https://contrabass', VIOLA_ENDPOINT: 'https://viola' })
const config = { metadata: { name: 'main', namespace: 'team' }, spec: {} } as unknown as OpenstackConfig

function aBus() {
  const clock = manualClock()
  /** By password: what the bus answers to it. */
  const report = new Map<string, (state: BusState) => void>()
  /** Seconds of each wake. */
  const woken: number[] = []
  const events = createCloudEvents({
    enabled: true,
    own: { password: async () => undefined },
    isAllowedHost: () => true,
    wake: () => void woken.push(clock.now() / 1_000),
    canTarget: () => true,
    metrics: { notification() {}, bus() {} },
    log: silent,
    clock,
    buses: {
      ...openStackBuses,
      listen: ({ password }: BusAccess, { onState }) => {
        report.set(password, onState)
        return { close: async () => {} }
      },
    },
  })
  return {
    clock,
    woken,
    events,
    /** A sync, which reads the account. */
    follow: (password: string) =>
      events.follow(config, {
        settings,
        bus: { urls: ['amqp://bus/'], user: 'u', password },
        secret: async () => undefined,
        interest: () => new Set(),
      }),
    answer: (password: string, state: BusState['state']) => report.get(password)?.({ state, message: state }),
  }
}

test('while the bus refuses the account, syncs read it again with pauses of 5 to 60 s, until another one is known', async () => {
  const { clock, woken, events, follow, answer } = aBus()
  await follow('old')
  answer('old', 'connected')
  woken.splice(0)
  answer('old', 'refused')
  assert.equal(events.take('team/main').busRefused, true)
  clock.advance(300_000)
  const pauses = woken.slice(1).map((at, index) => at - (woken[index] ?? 0))
  assert.equal(woken[0], 3)
  assert.ok(pauses.length >= 6, `${woken}`)
  for (const pause of pauses) assert.ok(pause >= 5 && pause <= 60, `${woken}`)
  assert.ok((pauses[0] ?? 0) <= 10, `${woken}`)

  await follow('new')
  answer('new', 'connected')
  woken.splice(0)
  clock.advance(600_000)
  assert.deepEqual(woken, [])
  assert.equal(clock.nextAt(), undefined)
})

test('an unreachable bus is reported once: it connects by itself', async () => {
  const { clock, woken, follow, answer } = aBus()
  await follow('old')
  answer('old', 'unreachable')
  clock.advance(600_000)
  assert.deepEqual(woken, [3])
})
