import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { NodeObject } from '../kube/types.ts'
import { aConfig } from './controller.fixture.ts'
import { factsOf, instanceIdOf } from './machine.ts'

test('the label names the machine if the spec does not', () => {
  const labels = { 'multinic.io/instance-id': 'from-label' }
  assert.equal(instanceIdOf(aConfig({ instanceId: '', metadata: { labels } })), 'from-label')
  assert.equal(instanceIdOf(aConfig({ instanceId: 'from-spec', metadata: { labels } })), 'from-spec')
})

test('the backend follows from the operating system of the Node', () => {
  const status = { nodeInfo: { osImage: 'Rocky Linux 8.9 (Green Obsidian)' } }
  assert.equal(factsOf({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'w1' }, status }).backend, 'ifcfg')
})

test('only a node whose Ready condition is Unknown is unreachable', () => {
  const ready = (status: string): NodeObject => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'w1' },
    status: {
      conditions: [{ type: 'Ready', status }],
      addresses: [
        { type: 'InternalIP', address: '10.0.0.1' },
        { type: 'Hostname', address: 'w1' },
      ],
    },
  })
  assert.deepEqual(
    ['True', 'False', 'Unknown'].map(status => factsOf(ready(status)).reachable),
    [true, true, false],
  )
  assert.deepEqual(factsOf(ready('True')).addresses, ['10.0.0.1'])
})

interface Listing {
  InternalIP?: string[]
  ExternalIP?: string[]
  provided?: string
}

function aNodeListing({ InternalIP = [], ExternalIP = [], provided }: Listing): NodeObject {
  const listed = (type: string, texts: string[]) => texts.map(address => ({ type, address }))
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'w1', annotations: provided ? { 'alpha.kubernetes.io/provided-node-ip': provided } : {} },
    // The cloud provider may list ExternalIPs first.
    status: { addresses: [...listed('ExternalIP', ExternalIP), ...listed('InternalIP', InternalIP)] },
  }
}

const primary = '10.0.0.1'
const nic = '10.100.0.10'
const primary6 = 'fd00::1'
const nic6 = 'fd00:100::10'
const floating = '203.0.113.7'

const listings: Record<string, [listing: Listing, expected: string[]]> = {
  'the address that the kubelet was given, whatever is listed': [
    { InternalIP: [nic, primary, primary6, nic6], provided: primary },
    [primary, primary6, nic6],
  ],
  'both addresses that the kubelet was given': [
    { InternalIP: [nic, primary, nic6, primary6], provided: `${primary}, FD00:0::1` },
    [primary, primary6],
  ],
  'the only InternalIP of each family, not the ExternalIP': [
    { InternalIP: [primary, primary6, primary], ExternalIP: [floating] },
    [primary, primary6],
  ],
  'all that are listed if the agent has to decide, InternalIPs first': [
    { InternalIP: [primary, nic], ExternalIP: [floating] },
    [primary, nic, floating],
  ],
  'the ExternalIP if there is no InternalIP': [{ ExternalIP: [floating] }, [floating]],
  'nothing if nothing is listed': [{ provided: 'nonsense' }, []],
}

for (const [name, [listing, expected]] of Object.entries(listings))
  test(`addresses of the node: ${name}`, () => assert.deepEqual(factsOf(aNodeListing(listing)).addresses, expected))

test('a label with any value but dynamic turns take-over off for one node', () => {
  const takeover = (value?: string) =>
    factsOf({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'w1', labels: value === undefined ? {} : { 'multinic.io/takeover': value } },
    }).takeover
  assert.deepEqual(['refuse', 'dynamic', 'Refuse', '', undefined].map(takeover), [
    'refuse',
    'dynamic',
    'refuse',
    'refuse',
    undefined,
  ])
})
