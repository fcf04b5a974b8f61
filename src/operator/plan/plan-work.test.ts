/**
 * The work of the planner grows with its input, not with the product of two lists: clouds, Viola and other objects choose
 * their lengths. Counts reads of the input, because times depend on the machine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Cloud } from '../cloud.ts'
import { checkMissingPorts } from '../observe/observe.ts'
import type { Claim, DeliveredNode, Observed, Vm } from './observed-state.ts'
import { aNic, aNode, aPort, me, observed, storage } from './plan.fixture.ts'
import { planNodes, planRelease } from './plan.ts'

/** Counts every read of a property, on every level. */
function countedReads<T extends object>(value: T, reads: { count: number }): T {
  const known = new WeakMap<object, object>()
  const counted = (one: object): object => {
    const proxy =
      known.get(one) ??
      new Proxy(one, {
        get(target, key, receiver) {
          reads.count++
          const got = Reflect.get(target, key, receiver)
          return typeof got === 'object' && got !== null && !(got instanceof Map) ? counted(got) : got
        },
      })
    known.set(one, proxy)
    return proxy
  }
  return counted(value) as T
}

const vm = (n: number): Vm => ({ entry: `vm-${n}`, id: `vm-${n}`, state: 'found', name: `worker-${n}` })
const mac = (n: number) =>
  `fa:16:3e:00:${(n >> 8).toString(16).padStart(2, '0')}:${(n & 255).toString(16).padStart(2, '0')}`
const nic = (n: number) => aNic(1, 0, { portId: `port-${n}`, macAddress: mac(n) })
const port = (n: number) => aPort(1, { id: `port-${n}`, macAddress: mac(n), serverId: `vm-${n}` })
const node = (n: number): DeliveredNode => aNode([nic(n)], { nodeName: `worker-${n}`, instanceId: `vm-${n}` })
const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n))
const selects = (n: number, more: Partial<Claim> = {}): Claim => ({
  source: `ns/other-${n}`,
  vmIds: [`vm-${n}`],
  subnetIds: ['storage'],
  indexes: [9],
  ...more,
})

const states: Record<string, (size: number) => Partial<Observed>> = {
  'new ports, and empty configs of their nodes': size => ({
    vms: many(size, vm),
    ports: many(size, port),
    delivered: many(size, n => ({ ...node(n), interfaces: [] })),
  }),
  'delivered ports': size => ({ vms: many(size, vm), ports: many(size, port), delivered: many(size, node) }),
  'VMs that are no longer selected': size => ({ vms: many(size, n => vm(n + size)), delivered: many(size, node) }),
  'delivered nodes and VMs with one name': size => ({
    vms: many(size, n => ({ ...vm(n), name: 'worker' })),
    delivered: many(size, n => ({ ...aNode([nic(n)]), nodeName: 'worker', instanceId: '' })),
  }),
  'interfaces that other objects select': size => ({
    delivered: many(size, node),
    claims: many(size, n => selects(n)),
  }),
  'interfaces that another object with many VMs selects': size => ({
    delivered: many(size, node),
    claims: [selects(0, { vmIds: many(size, n => `vm-${n}`) })],
  }),
  'interfaces of other objects': size => ({
    vms: many(size, vm),
    ports: many(size, port),
    delivered: many(size, n => aNode([{ ...nic(n), source: `ns/other-${n}` }], { instanceId: `vm-${n}` })),
    claims: many(size, n => selects(n)),
  }),
  'a port with addresses in every selected subnet': size => ({
    vms: [vm(0)],
    subnets: many(size, n => ({ ...storage, id: `subnet-${n}` })),
    ports: [{ ...port(0), addresses: many(size, n => ({ subnetId: `subnet-${n}`, address: '10.1.0.1' })) }],
  }),
}

for (const [name, state] of Object.entries(states))
  test(`operator 3: planning ${name}: twice the input is twice the work`, () => {
    assertLinear(size => {
      const reads = { count: 0 }
      planNodes(countedReads(observed(state(size)), reads))
      return reads.count
    })
  })

test('operator 3: planning the deletion of an object: twice the input is twice the work', () => {
  assertLinear(size => {
    const reads = { count: 0 }
    const { nodes, claims } = countedReads({ nodes: many(size, node), claims: many(size, n => selects(n)) }, reads)
    planRelease(me, nodes, claims)
    return reads.count
  })
})

const missing: Record<string, (n: number) => { vmId: string; portId?: string; macAddress: string }> = {
  'by id': n => ({ vmId: 'vm-1', portId: `port-${n}`, macAddress: mac(n) }),
  'by MAC address': n => ({ vmId: 'vm-1', macAddress: mac(n) }),
}

for (const [name, make] of Object.entries(missing))
  test(`operator 3: checking missing ports ${name}: twice the input is twice the work`, async () => {
    const reads = { count: 0 }
    const work = async (size: number) => {
      reads.count = 0
      const found = countedReads({ ports: many(size, n => ({ ...port(n), serverId: 'vm-2' })) }, reads)
      const attached = countedReads(
        { list: many(size, n => ({ portId: `other-${n}`, macAddress: 'x', subnetIds: [] })) },
        reads,
      )
      const cloud: Partial<Cloud> = {
        portsById: async ids => (ids.length > 0 ? found.ports : []),
        portsByMac: async macs => (macs.length > 0 ? found.ports : []),
        attachmentsOf: async () => attached.list,
      }
      const state = {
        vms: [],
        nodesWithoutVm: [],
        ports: [],
        subnets: [],
        subnetNames: {},
        networks: new Map(),
        clockBehindMs: 0,
      }
      const signal = new AbortController().signal
      const options = { missing: many(size, make), state, deletedPorts: new Set<string>(), signal }
      await checkMissingPorts(cloud as Cloud, options)
      return reads.count
    }
    assertLinear([await work(100), await work(200)])
  })

function assertLinear(work: ((size: number) => number) | [number, number]): void {
  const [once, twice] = typeof work === 'function' ? [work(100), work(200)] : work
  assert.ok(twice < 2.2 * once, `${once} reads become ${twice}`)
}
