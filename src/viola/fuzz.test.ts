import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { aBizCluster, type BizCluster } from '../../test/biz-cluster.ts'
import { aViola, type Viola } from '../../test/viola.ts'
import { violaPath } from '../contract/viola.ts'
import { nodesFrom } from './request.ts'

let biz: BizCluster
let viola: Viola
before(async () => {
  biz = await aBizCluster()
  viola = await aViola({ KUBECONFIG: biz.api.kubeconfig })
})
after(async () => {
  await viola.close()
  await biz.close()
})

const junk = fc.jsonValue({ maxDepth: 2 })
const often = <T>(good: fc.Arbitrary<T>) => fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: junk })
const hex = fc.integer({ min: 0, max: 255 }).map(byte => byte.toString(16).padStart(2, '0'))
const nic = fc.record(
  {
    id: often(fc.integer({ min: 0, max: 11 })),
    name: often(fc.constantFrom('multinic0', 'multinic3', 'multinic9', 'eth0', '')),
    macAddress: often(fc.tuple(hex, hex).map(([a, b]) => `02:00:00:00:${a}:${b}`)),
    address: often(fc.oneof(fc.ipV4(), fc.ipV6(), fc.constant(''))),
    cidr: often(fc.tuple(fc.ipV4(), fc.integer({ min: 0, max: 40 })).map(([ip, length]) => `${ip}/${length}`)),
    mtu: often(fc.integer({ min: 0, max: 10_000 })),
    portId: often(fc.string({ maxLength: 5 })),
    addresses: often(fc.array(often(fc.ipV6().map(ip => `${ip}/64`)), { maxLength: 3 })),
    routes: often(fc.array(often(fc.record({ destination: fc.constant('10.0.0.0/8'), nexthop: fc.ipV4() })))),
    source: often(fc.string()),
  },
  { requiredKeys: [] },
)
const name = fc.oneof(fc.stringMatching(/^[a-z0-9]{1,6}$/), fc.string({ unit: 'grapheme', maxLength: 40 }))
const node = fc.record(
  {
    nodeName: often(name),
    instanceId: often(fc.string({ maxLength: 8 })),
    interfaces: often(fc.array(often(nic), { maxLength: 11 })),
    expectedSpecHash: often(fc.constantFrom('', 'x')),
  },
  { requiredKeys: ['nodeName', 'interfaces'] },
)
const body = often(fc.array(often(node), { maxLength: 4 }))

test('whatever is sent is either taken or answered by paths', () => {
  fc.assert(
    fc.property(body, given => {
      const { nodes, errors } = nodesFrom(given, 'p1')
      assert.ok(nodes.length > 0 !== errors.length > 0)
    }),
    { numRuns: 3_000 },
  )
})

test('no body makes the server or the cluster fail: what we take, the cluster takes', async () => {
  const provider = fc.oneof(fc.constant('p1'), fc.stringMatching(/^[\x21-\x7e]{1,20}$/))
  await fc.assert(
    fc.asyncProperty(body, provider, async (given, id) => {
      const answer = await viola.ask('POST', violaPath, {
        provider: id,
        body: JSON.stringify(given),
        headers: { 'content-type': 'application/json' },
      })
      assert.ok([200, 400, 409].includes(answer.status), `${answer.status} ${answer.body}`)
    }),
    { numRuns: 400 },
  )
})
