/** What a sync learns from notifications, and how often they start one. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/support/manual-clock.ts'
import type { Subject } from '../cloud.ts'
import { createPendingHints, type Hints } from './hints.ts'

const key = 'ns/a'
const port = (id: string, deviceId = 'vm-1', deleted = false): Subject => ({ about: 'port', id, deviceId, deleted })
const renamed: Subject = { about: 'server', id: 'vm-1', name: 'new', interfaces: false }
const attached: Subject = { about: 'server', id: 'vm-2', name: '', interfaces: true }
const subnet: Subject = { about: 'subnet', id: 'sub-1', name: '' }

function start({ canTarget = true } = {}) {
  const clock = manualClock()
  const wakes: number[] = []
  const hints = createPendingHints({ wake: () => wakes.push(clock.now()), clock, canTarget: () => canTarget })
  const add = (...subjects: Subject[]) => {
    for (const subject of subjects) hints.add(key, subject, { event: 'port.update.end', receivedAt: clock.now() })
  }
  return { clock, wakes, hints, add }
}

/** `ports a; servers vm-1`, or what must be read instead. */
function textOf({ notified, changed, servers, networks, deletedPorts }: Hints): string {
  if (!notified) return 'nothing'
  if (changed) return [...changed.ports].concat('of', ...changed.servers).join(' ')
  const parts = { servers, networks, [`without ${[...deletedPorts]}`]: deletedPorts.size > 0 }
  return ['everything', ...Object.keys(parts).filter(part => parts[part])].join(' ')
}

const cases: Record<string, [subjects: Subject[], expected: string]> = {
  'an attached port': [[port('a')], 'a of vm-1'],
  'ports of two servers': [[port('a'), port('b', 'vm-2')], 'a b of vm-1 vm-2'],
  'an interface that Nova reports': [[attached], 'of vm-2'],
  'a detached port': [[port('a', '')], 'a of'],
  'a deleted port': [[port('a'), port('b', 'vm-1', true)], 'everything without b'],
  'a renamed server': [[port('a'), renamed], 'everything servers'],
  'a subnet': [[subnet, port('a')], 'everything networks'],
  'too many ports': [Array.from({ length: 101 }, (_, n) => port(`${n}`)), 'everything'],
  'too many servers': [Array.from({ length: 101 }, (_, n) => port('a', `vm-${n}`)), 'everything'],
}
for (const [name, [subjects, expected]] of Object.entries(cases))
  test(`${name}: read ${expected}`, () => {
    const { clock, hints, add } = start()
    add(...subjects)
    assert.equal(textOf(hints.take(key)), 'nothing', 'not before it has passed')
    clock.advance(10)
    assert.equal(textOf(hints.take(key)), expected)
    assert.equal(textOf(hints.take(key)), 'nothing')
  })

test('twenty attaches in ten seconds, each reported three times, start a sync within 150 ms each', () => {
  const { clock, wakes, hints, add } = start()
  const late: number[] = []
  for (let n = 0; n < 20; n++)
    for (const afterMs of [0, 40, 200]) {
      clock.advance(n * 500 + afterMs - clock.now())
      add(port(`${n}`))
      const arrived = clock.now()
      clock.advance(10)
      if (!hints.take(key).changed?.ports.has(`${n}`)) {
        clock.advance(arrived + 160 - clock.now())
        if (!hints.take(key).changed?.ports.has(`${n}`)) late.push(n)
      }
    }
  assert.deepEqual(late, [])
  assert.ok(wakes.length <= 60)
})

test('a flood of ports starts a sync every 150 ms for ten seconds, then two a second', () => {
  const { clock, wakes, hints, add } = start()
  for (let ms = 0; ms < 60_000; ms += 10) {
    add(port('a'))
    clock.advance(10)
    hints.take(key)
  }
  const gaps = wakes.slice(1).map((at, n) => at - (wakes[n] ?? 0))
  assert.ok(Math.min(...gaps) >= 150)
  assert.ok(wakes.filter(at => at < 10_000).length >= 60)
  assert.ok(wakes.length <= 60 + 120 + 1, `${wakes.length}`)
})

test('a flood of ports does not lift the limit of what needs a complete read', () => {
  const { clock, hints, add } = start()
  let complete = 0
  for (let ms = 0; ms < 20_000; ms += 10) {
    add(port('a'), renamed)
    clock.advance(10)
    if (hints.take(key).servers) complete++
  }
  assert.ok(complete <= 3 + 10, `${complete}`)
})

test('without a complete read to start from, ports have the limit of all others', () => {
  const { clock, wakes, hints, add } = start({ canTarget: false })
  for (let ms = 0; ms < 20_000; ms += 10) {
    add(port('a'))
    clock.advance(10)
    hints.take(key)
  }
  assert.ok(wakes.length <= 3 + 10, `${wakes.length}`)
})

test('a notification that arrives before the sync starts belongs to it, and starts no other', () => {
  const { clock, wakes, hints, add } = start()
  add(port('a'))
  clock.advance(10)
  add(port('b'))
  assert.equal(textOf(hints.take(key)), 'a b of vm-1')
  clock.advance(60_000)
  assert.deepEqual(wakes, [5])
  add(port('c'))
  clock.advance(10)
  hints.forget(key)
  assert.equal(textOf(hints.take(key)), 'nothing')
})
