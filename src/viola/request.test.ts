import assert from 'node:assert/strict'
import { test } from 'node:test'
import { maxPostNodes } from '../contract/viola.ts'
import { HttpProblem } from '../server/server.ts'
import { maxErrors, nodesFrom } from './request.ts'

const mac = '02:00:00:00:00:01'
const other = '02:00:00:00:00:02'

test('the JSON of older operators is accepted: no id for multinic0, empty and unknown keys', () => {
  const interfaces = [
    { portId: '', name: 'multinic0', macAddress: mac, address: '10.0.0.5', cidr: '10.0.0.0/24', deviceId: 'vm-1' },
    { id: 1, macAddress: other.toUpperCase(), mtu: 1500, networkId: 'n', subnetId: 's' },
  ]
  const { nodes, errors } = nodesFrom([{ nodeName: ' Worker_1 ', instanceId: 'vm-1', interfaces }], 'p1')
  assert.deepEqual(errors, [])
  assert.deepEqual(nodes[0]?.interfaces, [
    { index: 0, name: 'multinic0', macAddress: mac, address: '10.0.0.5', cidr: '10.0.0.0/24' },
    { index: 1, name: 'multinic1', macAddress: other, mtu: 1500, networkId: 'n', subnetId: 's' },
  ])
  assert.equal(nodes[0]?.nodeName, 'Worker_1')
  assert.equal(nodes[0]?.objectName, 'worker-1')
})

test('the order of interfaces and keys and the case of MACs do not change the hash', () => {
  const a = { id: 0, macAddress: mac, mtu: 1500 }
  const b = { id: 1, macAddress: other }
  const hashOf = (interfaces: object[]) => nodesFrom([{ nodeName: 'a', interfaces }], 'p1').nodes[0]?.specHash
  assert.equal(
    hashOf([a, b]),
    hashOf([
      { macAddress: other.toUpperCase(), id: 1 },
      { mtu: 1500, macAddress: mac, id: 0 },
    ]),
  )
  assert.notEqual(hashOf([a, b]), hashOf([a]))
})

const wrong: Record<string, [body: unknown, ...paths: string[]]> = {
  'no array': [{ nodeName: 'a' }, ''],
  'nothing at all': [undefined, ''],
  'an empty array': [[], ''],
  'a blank node name': [[{ nodeName: ' ', interfaces: [] }], '[0].nodeName'],
  'a node name that is no text, and no interfaces': [[{ nodeName: 5 }], '[0].nodeName', '[0].interfaces'],
  'a node named twice': [
    [
      { nodeName: 'a', interfaces: [] },
      { nodeName: 'a', interfaces: [] },
    ],
    '[1].nodeName',
  ],
  'a wrong MTU in the second interface': [
    [{ nodeName: 'a', interfaces: [{ macAddress: mac }, { macAddress: other, mtu: 20 }] }],
    '[0].interfaces[1].mtu',
  ],
  'mistakes in several nodes, of schema and of sense, all at once': [
    [
      {
        nodeName: 'a',
        interfaces: [
          { macAddress: 'zz', mtu: 20, address: '10.0.0.5' },
          { macAddress: mac, id: 3, name: 'multinic4' },
        ],
      },
      { nodeName: 'b', interfaces: [{ macAddress: mac, address: '10.0.0.5', cidr: '10.0.1.0/24' }] },
    ],
    '[0].interfaces[0].macAddress',
    '[0].interfaces[0].mtu',
    '[0].interfaces[0].cidr',
    '[0].interfaces[1].name',
    '[1].interfaces[0].address',
  ],
  'a MAC that is used twice, in either case': [
    [{ nodeName: 'a', interfaces: [{ macAddress: 'AA:00:00:00:00:01' }, { macAddress: 'aa:00:00:00:00:01' }] }],
    '[0].interfaces[1].macAddress',
  ],
  'eleven interfaces': [
    [{ nodeName: 'a', interfaces: Array.from({ length: 11 }, (_, i) => ({ macAddress: `02:00:00:00:00:${10 + i}` })) }],
    '[0].interfaces',
    '[0].interfaces[10].id',
  ],
  'an interface that is no object': [
    [{ nodeName: 'a', interfaces: [null] }],
    '[0].interfaces[0]',
    '[0].interfaces[0].macAddress',
  ],
}

for (const [name, [body, ...paths]] of Object.entries(wrong)) {
  test(`${name} is named by path, and nothing is taken`, () => {
    const { nodes, errors } = nodesFrom(body, 'p1')
    assert.deepEqual(nodes, [])
    assert.deepEqual(errors.map(({ path }) => path).sort(), paths.sort())
    for (const { message } of errors) assert.ok(message.length > 5, message)
  })
}

test('more nodes than one POST may have are refused before any of them is validated', () => {
  const body = Array.from({ length: maxPostNodes + 1 }, () => ({}))
  assert.throws(
    () => nodesFrom(body, 'p1'),
    (error: unknown) =>
      error instanceof HttpProblem && error.status === 413 && /2001 .* at most 2000/.test(error.message),
  )
  assert.throws(() => nodesFrom(JSON.parse(`[${'{},'.repeat(1_000_000)}{}]`), 'p1'), /1000001 node configs/)
})

test('as many nodes as one POST may have are accepted, as the Go operator sends them', () => {
  const body = Array.from({ length: maxPostNodes }, (_, n) => ({ nodeName: `w${n}`, interfaces: [] }))
  assert.equal(nodesFrom(body, 'p1').nodes.length, maxPostNodes)
})

const many = (entry: string) => JSON.parse(`[${`${entry},`.repeat(1_000_000)}${entry}]`) as unknown[]
const hostile: Record<string, [node: object, path: string]> = {
  'a million interfaces': [{ nodeName: 'a', interfaces: many('{}') }, '[0].interfaces'],
  'a million addresses': [
    { nodeName: 'a', interfaces: [{ macAddress: mac, addresses: many('""') }] },
    '[0].interfaces[0].addresses',
  ],
  'a million routes': [
    { nodeName: 'a', interfaces: [{ macAddress: mac, routes: many('{}') }] },
    '[0].interfaces[0].routes',
  ],
}
for (const [name, [node, path]] of Object.entries(hostile))
  test(`${name} are one mistake, named by path`, () => {
    assert.deepEqual(
      nodesFrom([node], 'p1').errors.map(error => error.path),
      [path],
    )
  })

test('validation stops after a bounded number of mistakes', () => {
  const body = Array.from({ length: maxPostNodes }, () => ({ interfaces: Array.from({ length: 10 }, () => ({})) }))
  const { nodes, errors } = nodesFrom(body, 'p1')
  assert.deepEqual([nodes.length, errors.length], [0, maxErrors])
})
