/** Whatever ports, subnets and networks a cloud has: Viola and the agent accept every node that the operator plans. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseInput } from '../../src/agent/input.ts'
import { toWireInterface } from '../../src/contract/interfaces.ts'
import type { Port } from '../../src/operator/cloud.ts'
import type { DeliveredNode, SelectedSubnet } from '../../src/operator/plan/observed-state.ts'
import { aPort, observed } from '../../src/operator/plan/plan.fixture.ts'
import { planNodes } from '../../src/operator/plan/plan.ts'
import { nodesFrom } from '../../src/viola/request.ts'
import { fuzz } from './fuzz.ts'

/** Few values, so that many ports have the same. */
const oneOf = <T>(...values: T[]) => fc.constantFrom(...values)
const mostly = <T>(good: T[], bad: T[]) =>
  fc.oneof({ weight: 20, arbitrary: oneOf(...good) }, { weight: 1, arbitrary: oneOf(...bad) })
const addresses = mostly(
  ['10.1.0.5', '10.1.0.6', '10.1.0.7', '10.1.0.8', '10.1.0.9'],
  ['10.1.0.255', '10.2.0.5', 'fd00::5', 'fd00:0::5', '127.0.0.1', 'x', ''],
)
const route = fc.record({
  destination: mostly(['10.9.0.0/16', '0.0.0.0/0'], ['fd01::/64', '10.9.0.1/16', 'x']),
  nexthop: mostly(['10.1.0.1'], ['fd00::1', 'x']),
})
const subnets = fc.tuple(
  ...['s1', 's2', 's3'].map(id =>
    fc.record({
      id: fc.constant(id),
      name: oneOf('', 'storage', '\u001b[31m'),
      networkId: mostly(['n1'], ['n2']),
      cidr: mostly(['10.1.0.0/24', '10.1.0.0/16'], ['fd00::/64', '10.1.0.0/33']),
      routes: fc.oneof(
        { weight: 20, arbitrary: fc.array(route, { maxLength: 2 }) },
        { weight: 1, arbitrary: fc.constant(Array(65).fill({ destination: '10.9.0.0/16', nexthop: '10.1.0.1' })) },
      ),
    }),
  ),
)
const networks = fc
  .tuple(mostly([undefined, 68, 9_216], [67, 9_217]), mostly([undefined, 1_500], [1]))
  .map(mtus => new Map(mtus.map((mtu, n) => [`n${n + 1}`, { id: `n${n + 1}`, name: '', ...(mtu && { mtu }) }])))
const port = fc
  .record({
    n: fc.integer({ min: 1, max: 8 }),
    networkId: mostly(['n1'], ['n2']),
    macAddress: mostly(
      Array.from({ length: 9 }, (_, n) => `fa:16:3e:00:00:0${n}`),
      ['zz'],
    ),
    addresses: fc.array(fc.record({ subnetId: oneOf('s1', 's2', 's3'), address: addresses }), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  .map(({ n, ...more }): Port => aPort(n, more))
const cloud = fc.record({
  subnets: subnets as fc.Arbitrary<SelectedSubnet[]>,
  networks,
  ports: fc.uniqueArray(port, { maxLength: 6, selector: ({ id }) => id }),
})

test('every node that is planned is accepted', async () => {
  await fuzz(
    fc.array(cloud, { minLength: 1, maxLength: 4 }),
    clouds => {
      let delivered: DeliveredNode[] = []
      let refused = 0
      for (const state of clouds) {
        const plan = planNodes(observed({ ...state, delivered }))
        refused += plan.verdicts.filter(({ reason }) => /NotUnique|PortInvalid/.test(reason)).length
        delivered = plan.nodes.flatMap(({ nodeName, instanceId, interfaces }) => {
          const wire = interfaces.map(toWireInterface)
          assert.deepEqual(nodesFrom([{ nodeName, instanceId, interfaces: wire }], 'p').errors, [])
          const input = { version: 1, mode: 'apply', nodeName, generation: 1, specHash: 'h', interfaces: wire }
          assert.deepEqual(parseInput(JSON.stringify(input)).errors, [])
          const node = { nodeName, instanceId, specHash: 'h', generation: 1, interfaces }
          return interfaces.length > 0 ? [node] : []
        })
      }
      return delivered.length === 0 ? 'empty' : refused > 0 ? 'refused some' : 'accepted all'
    },
    { atLeast: { 'refused some': 1_000, 'accepted all': 100 } },
  )
})
