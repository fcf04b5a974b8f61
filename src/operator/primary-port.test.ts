import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VerdictReason } from '../contract/reasons/catalogue.ts'
import type { Port, Subnet } from './cloud.ts'
import { primaryPortOf } from './primary-port.ts'

const storage: Subnet = { id: 'storage', name: 'storage', networkId: 'net-s', cidr: '10.1.0.0/24', routes: [] }

/** A port outside the selected subnets that was created at this minute. */
function outside(id: string, minute: number | undefined, subnetId = 'management'): Port {
  return {
    id,
    networkId: subnetId === 'storage' ? 'net-s' : 'net-m',
    macAddress: 'fa:16:3e:00:00:01',
    status: 'ACTIVE',
    serverId: 'vm-1',
    owner: 'compute:nova',
    addresses: [{ subnetId, address: '10.9.0.1' }],
    ...(minute !== undefined && { createdAt: `2026-11-15T01:${String(minute).padStart(2, '0')}:00Z` }),
  }
}
const inside = (id: string, minute: number | undefined) => outside(id, minute, 'storage')

interface Given {
  /** Ports that the operator ignores, with the reason. */
  ignored?: [port: Port, reason: VerdictReason][]
  selected?: Port[]
  delivered?: Port[]
}

const cases: Record<string, [given: Given, expected: string | undefined]> = {
  'the only port of a VM, outside the selected subnets': [{ ignored: [[outside('a', 0), 'NoAddress']] }, 'a'],
  'older than every selected port': [
    { ignored: [[outside('a', 0), 'NoAddress']], selected: [inside('b', 1), inside('c', 2)] },
    'a',
  ],
  'older than every delivered port': [
    { ignored: [[outside('a', 0), 'NoAddress']], delivered: [inside('b', 1), inside('c', 2)] },
    'a',
  ],
  'the oldest of several ports outside the selected subnets': [
    {
      ignored: [
        [outside('b', 1), 'NoAddress'],
        [outside('a', 0), 'NoAddress'],
      ],
    },
    'a',
  ],
  'of two ports of the same age, the one with the lower id': [
    {
      ignored: [
        [outside('b', 0), 'NoAddress'],
        [outside('a', 0), 'NoAddress'],
      ],
    },
    'a',
  ],
  'created in the same second as a selected port': [
    { ignored: [[outside('b', 0), 'NoAddress']], selected: [inside('a', 0)] },
    'b',
  ],
  'none, if a selected port is older': [
    { ignored: [[outside('a', 1), 'NoAddress']], selected: [inside('b', 0)] },
    undefined,
  ],
  'none, if a delivered port is older': [
    { ignored: [[outside('a', 1), 'NoAddress']], delivered: [inside('b', 0)] },
    undefined,
  ],
  'none, if its age is unknown and that of a selected port is known': [
    { ignored: [[outside('a', undefined), 'NoAddress']], selected: [inside('b', 1)] },
    undefined,
  ],
  'a port that is also too old for the baseline': [
    { ignored: [[outside('a', 0), 'BeforeBaseline']], selected: [inside('b', 1)] },
    'a',
  ],
  'none, if the port that is too old has an address in a selected subnet': [
    { ignored: [[inside('a', 0), 'BeforeBaseline']], selected: [inside('b', 1)] },
    undefined,
  ],
  'never a port of another device owner': [
    {
      ignored: [
        [outside('dhcp', 0), 'DeviceOwnerNotAllowed'],
        [outside('a', 1), 'NoAddress'],
      ],
    },
    'a',
  ],
  'never a port that is not bound yet': [{ ignored: [[outside('a', 0), 'PortNotBound']] }, undefined],
  'none without ports': [{}, undefined],
}
for (const [name, [{ ignored = [], selected = [], delivered = [] }, expected]] of Object.entries(cases))
  test(`primary port: ${name}`, () => {
    const undelivered = [
      ...ignored.map(([port, reason]) => ({ port, refusal: { reason, message: '' } })),
      ...selected.map(port => ({ port })),
    ]
    assert.equal(primaryPortOf({ undelivered, delivered }, [storage])?.id, expected)
  })
