/** The nodes of a cluster that the plan of one object depends on: without the others, the plan is the same. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { fuzz } from '../../../test/fuzz/fuzz.ts'
import { concernedNodes } from './concerned-nodes.ts'
import type { DeliveredNode, Observed } from './observed-state.ts'
import { aNic, aNode, aPort, backup, me, observed, storage } from './plan.fixture.ts'
import { planNodes } from './plan.ts'

const numbers = [1, 2, 3, 4, 5] as const
const vmIds = numbers.map(n => `vm-${n}`)
const sources = [me, 'ns/other', 'ns/deleted', undefined]

const aServer = fc.constantFrom(...vmIds)
const aName = fc.constantFrom(...numbers.map(n => `worker-${n}`), 'WORKER-1')

const somePorts = fc
  .uniqueArray(
    fc.record({ n: fc.integer({ min: 1, max: 9 }), serverId: aServer, subnet: fc.constantFrom(storage, backup) }),
    {
      selector: ({ n }) => n,
      maxLength: 8,
    },
  )
  .map(ports => ports.map(({ n, ...rest }) => aPort(n, rest)))

const someInterfaces = fc
  .uniqueArray(
    fc.record({
      n: fc.integer({ min: 1, max: 9 }),
      index: fc.integer({ min: 0, max: 9 }),
      source: fc.constantFrom(...sources),
      hasPort: fc.boolean(),
    }),
    { selector: ({ index }) => index, maxLength: 3 },
  )
  .map(nics =>
    nics.map(({ n, index, source, hasPort }) => {
      const { source: _, portId, ...nic } = aNic(n, index)
      return { ...nic, ...(source !== undefined && { source }), ...(hasPort && portId !== undefined && { portId }) }
    }),
  )

const aCluster = fc
  .uniqueArray(
    fc.record({ nodeName: aName, instanceId: fc.option(aServer, { nil: '' }), interfaces: someInterfaces }),
    {
      selector: ({ nodeName }) => nodeName.toLowerCase(),
    },
  )
  .map(nodes =>
    nodes.map(({ nodeName, instanceId, interfaces }): DeliveredNode => {
      const { instanceId: _, ...node } = aNode(interfaces, { nodeName, specHash: nodeName })
      return instanceId === '' ? node : { ...node, instanceId }
    }),
  )

const someState = fc.record({
  delivered: aCluster,
  ports: somePorts,
  vms: fc.uniqueArray(fc.record({ id: aServer, name: aName, hasLeft: fc.boolean() }), {
    selector: ({ id }) => id,
    maxLength: 3,
  }),
  checked: fc.subarray(numbers.map(n => `port-${n}`)),
})

type State = typeof someState extends fc.Arbitrary<infer T> ? T : never

function toObserved({ delivered, ports, vms, checked }: State): Observed {
  return observed({
    ...{ delivered, ports },
    vms: vms.map(({ id, name, hasLeft }) => ({
      ...{ entry: id, id, state: 'found', name },
      ...(hasLeft && { hasLeft: 'selector' }),
    })),
    claims: [{ source: 'ns/other', vmIds: ['vm-1', 'vm-5'], subnetIds: ['storage'], indexes: [7] }],
    portChecks: new Map(checked.map(portId => [portId, 'detached'])),
  })
}

test('a plan on the nodes that concern the object is the plan on the whole cluster', async () => {
  await fuzz(
    someState,
    async state => {
      const whole = toObserved(state)
      const delivered = concernedNodes(whole.delivered, whole)
      assert.deepEqual(planNodes({ ...whole, delivered }), planNodes(whole))
      return delivered.length < whole.delivered.length ? 'reduced' : 'whole'
    },
    { runs: 5_000, atLeast: { reduced: 1_000, whole: 500 } },
  )
})
