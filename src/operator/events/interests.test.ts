/** Which objects a notification wakes, and how often. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manualClock } from '../../../test/support/manual-clock.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { Subject } from '../cloud.ts'
import { createCoalescer } from '../limits/coalesce.ts'
import type { Observed } from '../plan/observed-state.ts'
import { createInterests, interestOf } from './interests.ts'

const observed = {
  source: 'ns/a',
  vms: [
    { entry: 'vm-1', id: 'vm-1', state: 'found' },
    { entry: 'worker-9', state: 'notFound' },
  ],
  ports: [{ id: 'listed' }],
  delivered: [
    {
      nodeName: 'w',
      interfaces: [
        { portId: 'delivered', source: 'ns/a' },
        { portId: 'foreign', source: 'ns/z' },
      ],
    },
  ],
  subnets: [{ id: 'sub-1', networkId: 'net-1' }],
} as unknown as Observed
const specs = [{ subnetName: 'storage' }, { subnets: [{ id: 'sub-1' }, { name: 'storage' }] }]

const port = (id: string, deviceId = ''): Subject => ({ about: 'port', id, deviceId, deleted: false })
const server = (id: string, name = ''): Subject => ({ about: 'server', id, name, interfaces: false })

const cases: Record<string, [subject: Subject, woken: boolean]> = {
  'a new port of a VM of the object': [port('new', 'vm-1'), true],
  'a listed port that no longer names a VM': [port('listed'), true],
  'a delivered port that is missing from the list': [port('delivered'), true],
  'a port that another object delivered': [port('foreign'), false],
  'a port of a VM that no object selects': [port('new', 'vm-2'), false],
  'a port without a VM': [port('new'), false],
  'a VM of the object': [server('vm-1'), true],
  'a VM that now has a name that matched no server before': [server('vm-9', 'worker-9'), true],
  'a VM that no object selects': [server('vm-2', 'other'), false],
  'a selected subnet': [{ about: 'subnet', id: 'sub-1', name: '' }, true],
  'a subnet with the selected name': [{ about: 'subnet', id: 'sub-2', name: 'storage' }, true],
  'another subnet': [{ about: 'subnet', id: 'sub-2', name: 'other' }, false],
  'the network of a selected subnet': [{ about: 'network', id: 'net-1' }, true],
  'another network': [{ about: 'network', id: 'net-2' }, false],
}
for (const [name, [subject, woken]] of Object.entries(cases))
  test(`${name}: ${woken ? 'woken' : 'not woken'}`, () => {
    for (const spec of specs) {
      const interests = createInterests()
      interests.set('ns/a', interestOf({ spec } as unknown as OpenstackConfig, observed))
      assert.deepEqual([...interests.of(subject)], woken ? ['ns/a'] : [])
    }
  })

test('any server that is created, changed or deleted concerns an object with a vmSelector', () => {
  const interests = createInterests()
  const spec = { vmSelector: { namePattern: 'worker-*' } }
  interests.set('ns/a', interestOf({ spec } as unknown as OpenstackConfig, observed))
  assert.deepEqual([...interests.of(server('vm-new', 'worker-new'))], ['ns/a'])
  assert.deepEqual([...interests.of({ about: 'server', id: 'vm-new', name: '', interfaces: true })], [])
})

test('an interest that ends is dropped, others stay', () => {
  const interests = createInterests()
  interests.set('ns/a', new Set(['port p', 'port q']))
  interests.set('ns/b', new Set(['port p']))
  assert.deepEqual([...interests.of(port('p'))], ['ns/a', 'ns/b'])
  interests.set('ns/a', new Set(['port q']))
  assert.deepEqual([...interests.of(port('p'))], ['ns/b'])
  interests.delete('ns/a')
  assert.deepEqual([...interests.of(port('q'))], [])
})

/** Passes of a key, in ms from the start. */
function passes(arrivals: readonly number[], until: number): number[] {
  const clock = manualClock()
  const times: number[] = []
  const coalescer = createCoalescer(() => times.push(clock.now()), clock)
  for (const at of arrivals) {
    clock.advance(at - clock.now())
    coalescer.add('ns/a')
  }
  clock.advance(until - clock.now())
  return times
}

test('a single notification passes after 5 ms', () => assert.deepEqual(passes([0], 60_000), [5]))

test('the three notifications of one attach pass one by one', () =>
  assert.deepEqual(passes([0, 900, 2_000], 60_000), [5, 905, 2_005]))

test('a thousand notifications in a second are coalesced, and the last one is not lost', () => {
  const times = passes(
    Array.from({ length: 1_000 }, (_, ms) => ms),
    60_000,
  )
  assert.ok(times.length <= 4, `${times}`)
  assert.ok((times.at(-1) ?? 0) > 999)
})

test('a continuous flood passes every two seconds', () => {
  const times = passes(
    Array.from({ length: 6_000 }, (_, n) => n * 10),
    60_000,
  )
  assert.ok(times.length <= 3 + 31, `${times.length}`)
})

test('a busy key does not delay another one', () => {
  const clock = manualClock()
  const seen: string[] = []
  const coalescer = createCoalescer(key => seen.push(key), clock)
  for (let n = 0; n < 100; n++) {
    coalescer.add('busy')
    clock.advance(10)
  }
  coalescer.add('quiet')
  clock.advance(10)
  assert.equal(seen.at(-1), 'quiet')
  coalescer.add('gone')
  coalescer.forget('gone')
  coalescer.close()
  clock.advance(10_000)
  assert.ok(!seen.includes('gone'))
})
