import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxErrors } from '../contract/problem.ts'
import { maxPostNodes } from '../contract/viola.ts'
import { HttpProblem } from '../server/server.ts'
import { nodesFrom } from './request.ts'

const macAddress = '02:00:00:00:00:01'
const other = '02:00:00:00:00:02'

test('JSON of older operators is accepted: no id for multinic0, empty and unknown fields', () => {
  const interfaces = [
    { portId: '', name: 'multinic0', macAddress, address: '10.0.0.5', cidr: '10.0.0.0/24', deviceId: 'vm-1' },
    { id: 1, macAddress: other.toUpperCase(), mtu: 1500, networkId: 'n', subnetId: 's' },
  ]
  const { nodes, errors } = nodesFrom([{ nodeName: ' Worker_1 ', instanceId: 'vm-1', interfaces }], 'p1')
  assert.deepEqual(errors, [])
  assert.deepEqual(nodes[0]?.interfaces, [
    { index: 0, name: 'multinic0', macAddress, address: '10.0.0.5', cidr: '10.0.0.0/24' },
    { index: 1, name: 'multinic1', macAddress: other, mtu: 1500, networkId: 'n', subnetId: 's' },
  ])
  assert.equal(nodes[0]?.nodeName, 'Worker_1')
  assert.equal(nodes[0]?.objectName, 'worker-1')
})

test('the order of interfaces and keys and the case of MACs do not change the hash', () => {
  const a = { id: 0, macAddress, mtu: 1500 }
  const b = { id: 1, macAddress: other }
  const hashOf = (interfaces: object[]) => nodesFrom([{ nodeName: 'a', interfaces }], 'p1').nodes[0]?.specHash
  assert.equal(
    hashOf([a, b]),
    hashOf([
      { macAddress: other.toUpperCase(), id: 1 },
      { mtu: 1500, macAddress, id: 0 },
    ]),
  )
  assert.notEqual(hashOf([a, b]), hashOf([a]))
})

const invalid: Record<string, [body: unknown, ...paths: string[]]> = {
  'a body that is not an array': [{ nodeName: 'a' }, ''],
  'no body': [undefined, ''],
  'an empty array': [[], ''],
  'a blank node name': [[{ nodeName: ' ', interfaces: [] }], '[0].nodeName'],
  'a node name that is not text, and missing interfaces': [[{ nodeName: 5 }], '[0].nodeName', '[0].interfaces'],
  'a duplicate node': [
    [
      { nodeName: 'a', interfaces: [] },
      { nodeName: 'a', interfaces: [] },
    ],
    '[1].nodeName',
  ],
  'a wrong MTU in the second interface': [
    [{ nodeName: 'a', interfaces: [{ macAddress }, { macAddress: other, mtu: 20 }] }],
    '[0].interfaces[1].mtu',
  ],
  'errors of the schema and of completion in several nodes': [
    [
      {
        nodeName: 'a',
        interfaces: [
          { macAddress: 'zz', mtu: 20, address: '10.0.0.5' },
          { macAddress, id: 3, name: 'multinic4' },
        ],
      },
      { nodeName: 'b', interfaces: [{ macAddress, address: '10.0.0.5', cidr: '10.0.1.0/24' }] },
    ],
    '[0].interfaces[0].macAddress',
    '[0].interfaces[0].mtu',
    '[0].interfaces[0].cidr',
    '[0].interfaces[1].name',
    '[1].interfaces[0].address',
  ],
  'allowed address pairs that are none, and too many': [
    [
      {
        nodeName: 'a',
        interfaces: [
          { macAddress, allowedAddressPairs: ['10.40.0.7', '10.40.0.0/33', 'x'] },
          { macAddress: 'AA:00:00:00:00:07', allowedAddressPairs: Array(33).fill('10.40.0.7') },
        ],
      },
    ],
    '[0].interfaces[0].allowedAddressPairs[1]',
    '[0].interfaces[0].allowedAddressPairs[2]',
    '[0].interfaces[1].allowedAddressPairs',
  ],
  'a duplicate MAC address in another case': [
    [{ nodeName: 'a', interfaces: [{ macAddress: 'AA:00:00:00:00:01' }, { macAddress: 'aa:00:00:00:00:01' }] }],
    '[0].interfaces[1].macAddress',
  ],
  'eleven interfaces': [
    [{ nodeName: 'a', interfaces: Array.from({ length: 11 }, (_, i) => ({ macAddress: `02:00:00:00:00:${10 + i}` })) }],
    '[0].interfaces',
    '[0].interfaces[10].id',
  ],
  'an interface that is not an object': [
    [{ nodeName: 'a', interfaces: [null] }],
    '[0].interfaces[0]',
    '[0].interfaces[0].macAddress',
  ],
}

for (const [name, [body, ...paths]] of Object.entries(invalid)) {
  test(`${name} is reported by path, and no node is accepted`, () => {
    const { nodes, errors } = nodesFrom(body, 'p1')
    assert.deepEqual(nodes, [])
    assert.deepEqual(errors.map(({ path }) => path).sort(), paths.sort())
    for (const { message } of errors) assert.ok(message.length > 5, message)
  })
}

test('the error of an allowed address pair says what to write', () => {
  const interfaces = [{ macAddress, allowedAddressPairs: ['10.40.0.7', 'x', '10.40.0.0/33'] }]
  const { errors } = nodesFrom([{ nodeName: 'a', interfaces }], 'p1')
  const message = 'must be an address or a network, such as 192.168.1.10/32 or 192.168.1.0/24'
  assert.deepEqual(
    errors,
    [1, 2].map(index => ({ path: `[0].interfaces[0].allowedAddressPairs[${index}]`, message })),
  )
})

test('a POST with too many nodes is refused before any node is validated', () => {
  const body = Array.from({ length: maxPostNodes + 1 }, () => ({}))
  assert.throws(
    () => nodesFrom(body, 'p1'),
    (error: unknown) =>
      error instanceof HttpProblem && error.status === 413 && /2001 .* at most 2000/.test(error.message),
  )
  assert.throws(() => nodesFrom(JSON.parse(`[${'{},'.repeat(1_000_000)}{}]`), 'p1'), /1000001 node configs/)
})

test('a POST with the maximum number of nodes is accepted, as the Go operator sends them', () => {
  const body = Array.from({ length: maxPostNodes }, (_, n) => ({ nodeName: `w${n}`, interfaces: [] }))
  assert.equal(nodesFrom(body, 'p1').nodes.length, maxPostNodes)
})

const many = (entry: string) => JSON.parse(`[${`${entry},`.repeat(1_000_000)}${entry}]`) as unknown[]
const hostile: Record<string, [node: object, path: string]> = {
  'a million interfaces': [{ nodeName: 'a', interfaces: many('{}') }, '[0].interfaces'],
  'a million addresses': [
    { nodeName: 'a', interfaces: [{ macAddress, addresses: many('""') }] },
    '[0].interfaces[0].addresses',
  ],
  'a million routes': [{ nodeName: 'a', interfaces: [{ macAddress, routes: many('{}') }] }, '[0].interfaces[0].routes'],
}
for (const [name, [node, path]] of Object.entries(hostile))
  test(`${name} are one error with a path`, () => {
    assert.deepEqual(
      nodesFrom([node], 'p1').errors.map(error => error.path),
      [path],
    )
  })

test('operator 4: validation stops after the maximum number of errors', () => {
  const read = new Set<number>()
  const body = Array.from({ length: maxPostNodes }, (_, position) => ({
    get interfaces() {
      read.add(position)
      return [{}]
    },
  }))
  const { nodes, errors } = nodesFrom(body, 'p1')
  assert.deepEqual([nodes.length, errors.length], [0, maxErrors])
  assert.ok(read.size <= maxErrors, `${read.size} nodes were read`)
})
