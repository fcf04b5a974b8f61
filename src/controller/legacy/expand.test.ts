import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { completeInterfaces } from '../../contract/interfaces.ts'
import { indexesOf, parseIndexes, withIndexes } from '../../contract/legacy/biz-nodes.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { aBiz, aBizNode, aMac } from './biz-config.fixture.ts'
import { entryName, recordOf } from './entry.ts'
import { type Given, unfold } from './expand.ts'

const now = new Date('2026-01-01T00:00:00Z')
const given = (values: Partial<Given>): Given => ({
  ...{ biz: aBiz(), entries: [], mode: 'dual', now, numbersOf: () => new Map() },
  ...values,
})

/** `name generation: number mac, …` of each entry, and a mark where it ends. */
function lines(entries: readonly NodeConfig[]): string[] {
  return entries.map(({ metadata, spec }) => {
    const nics = spec.interfaces.map(({ id, macAddress }) => `${id} ${macAddress.slice(-2)}`).sort()
    return `${metadata.name} g${metadata.generation}: ${nics.join(', ')}${metadata.deletionTimestamp ? ' (ends)' : ''}`
  })
}

/** As if its agent had done what it asks for. */
function done(entry: NodeConfig): NodeConfig {
  const { generation } = entry.metadata
  return {
    ...entry,
    metadata: { ...entry.metadata, finalizers: ['multinic.io/node-cleanup'] },
    status: {
      ...(generation !== undefined && { observedGeneration: generation }),
      state: 'Configured',
      lastJobName: `job-of-${entry.metadata.name}`,
      lastProcessed: '2025-12-31T00:00:00Z',
      bootID: 'boot-1',
    },
  }
}

const two = [aBizNode('vm-1', [1, 2], 'w1'), aBizNode('vm-2', [3], 'w2')]
const settled = unfold(given({ biz: aBiz({ nodes: two }) })).entries.map(done)
const told = { nodeStatuses: settled.map(recordOf) }

test('every node of the document is an entry, withIndexes in its order', () => {
  assert.deepEqual(lines(settled), ['all:vm-1 g1: 0 01, 1 02', 'all:vm-2 g1: 0 03'])
})

test('an edit of one node makes that entry another one, and leaves the others the very same', () => {
  const edited = [two[0], aBizNode('vm-2', [3, 4], 'w2')].filter(node => node !== undefined)
  const { entries } = unfold(given({ biz: aBiz({ nodes: edited, generation: 2 }), entries: settled }))
  assert.deepEqual(lines(entries), ['all:vm-1 g1: 0 01, 1 02', 'all:vm-2 g2: 0 03, 1 04'])
  assert.equal(entries[0], settled[0])
  assert.equal(entries[1]?.status?.observedGeneration, 1)
})

test('after a restart the status tells the same', () => {
  const { entries } = unfold(given({ biz: aBiz({ nodes: two, generation: 7, status: told }) }))
  assert.deepEqual(lines(entries), lines(settled))
  assert.deepEqual(entries.map(recordOf), told.nodeStatuses)
})

test('a restart in between and an edit give what the edit alone would have given', () => {
  const edited = [aBizNode('vm-1', [2, 9], 'w1')]
  const awake = unfold(given({ biz: aBiz({ nodes: edited, generation: 2 }), entries: settled }))
  const restarted = unfold(given({ biz: aBiz({ nodes: edited, generation: 2, status: told }) }))
  assert.deepEqual(lines(awake.entries), ['all:vm-1 g2: 0 09, 1 02', 'all:vm-2 g1: 0 03 (ends)'])
  assert.deepEqual(lines(restarted.entries), lines(awake.entries))
})

test('a record of other work is never taken for this one, whatever its generation says', () => {
  const nodeStatuses = told.nodeStatuses.map(record => ({ ...record, specHash: 'of-other-work' }))
  const [entry] = unfold(given({ biz: aBiz({ nodes: two, generation: 1, status: { nodeStatuses } }) })).entries
  assert.equal(entry?.metadata.generation, 1)
  assert.equal(entry?.status?.observedGeneration, undefined)
})

test('an entry that nobody worked on leaves nothing to clean up', () => {
  const fresh = unfold(given({ biz: aBiz({ nodes: two }) })).entries
  assert.deepEqual(unfold(given({ biz: aBiz({ generation: 2 }), entries: fresh })).entries, [])
})

test('a document that is deleted ends its entries', () => {
  const biz = aBiz({ nodes: two, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
  assert.deepEqual(
    lines(unfold(given({ biz, entries: settled })).entries),
    lines(settled).map(line => `${line} (ends)`),
  )
})

test('numbers come from a MultiNicNodeConfig of the machine where the status tells none', () => {
  const numbersOf = (id: string) => (id === 'vm-1' ? new Map([[aMac(2), 0]]) : new Map())
  const { entries } = unfold(given({ biz: aBiz({ nodes: two }), numbersOf }))
  assert.deepEqual(lines(entries)[0], 'all:vm-1 g1: 0 02, 1 01')
})

test('a node that an older controller configured is looked at before its numbers are known', () => {
  const status = { nodeStatuses: [{ attachedNodeId: 'vm-1', state: 'Configured' as const }] }
  const [entry] = unfold(given({ biz: aBiz({ nodes: two, generation: 4, status }) })).entries
  assert.equal(entry?.metadata.annotations?.['multinic.io/adopt'], 'numbers')
  assert.equal(entry?.metadata.generation, 3)
})

for (const [name, values] of Object.entries({
  'by the mode of the controller': { mode: 'biz-read-only' as const, metadata: {} },
  'by its annotation': { mode: 'dual' as const, metadata: { annotations: { 'multinic.io/read-only': 'true' } } },
}))
  test(`a document that is read-only ${name} keeps its nodes as they are`, () => {
    const edited = [aBizNode('vm-1', [1, 2, 5], 'w1'), aBizNode('vm-3', [6], 'w3')]
    const biz = aBiz({ nodes: edited, generation: 2, metadata: values.metadata, status: told })
    const awake = unfold(given({ biz, entries: settled, mode: values.mode }))
    assert.deepEqual(lines(awake.entries), lines(settled))
    assert.equal(awake.ignored, 3)
    const restarted = unfold(given({ biz, mode: values.mode }))
    assert.deepEqual(
      restarted.frozen.map(({ attachedNodeId, state, reason }) => `${attachedNodeId} ${state} ${reason}`),
      ['vm-1 Configured undefined', 'vm-3 Pending ReadOnly'],
    )
  })

test('the end of a read-only document leaves every interface where it is', () => {
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', annotations: { 'multinic.io/read-only': 'true' } }
  const { entries } = unfold(given({ biz: aBiz({ nodes: two, metadata }), entries: settled }))
  for (const entry of entries) assert.ok(entry.metadata.annotations?.['multinic.io/force-delete'])
})

test('a node that is named twice has two entries, and each keeps its own record', () => {
  const nodes = [aBizNode('vm-1', [1]), aBizNode('vm-1', [2])]
  const entries = unfold(given({ biz: aBiz({ nodes }) })).entries.map(done)
  assert.deepEqual(
    entries.map(({ metadata }) => metadata.name),
    [entryName('all', 'vm-1'), entryName('all', 'vm-1', 2)],
  )
  const status = { nodeStatuses: entries.map(recordOf) }
  const again = unfold(given({ biz: aBiz({ nodes, status }) })).entries
  assert.deepEqual(again.map(recordOf), status.nodeStatuses)
})

const macs = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 10 })

test('whatever is added and removed: a number stays with its MAC, is used once, and the lowest free one is taken', () => {
  fc.assert(
    fc.property(fc.array(macs, { minLength: 1, maxLength: 12 }), edits => {
      let known = new Map<string, number>()
      for (const edit of edits) {
        const interfaces = withIndexes(aBizNode('vm-1', edit).interfaces, known)
        assert.deepEqual(completeInterfaces(interfaces).errors, [])
        const next = new Map(indexesOf(interfaces))
        for (const [mac, id] of next) if (known.has(mac)) assert.equal(id, known.get(mac))
        const fresh = [...next].filter(([mac]) => !known.has(mac)).map(([, id]) => id)
        const kept = new Set([...next].filter(([mac]) => known.has(mac)).map(([, id]) => id))
        const lowest = [...Array(10).keys()].filter(id => !kept.has(id)).slice(0, fresh.length)
        assert.deepEqual(fresh, lowest)
        known = next
      }
    }),
  )
})

test('whatever happens between two looks, a restart gives the same entries as going on', () => {
  const documents = fc.array(
    fc.uniqueArray(fc.record({ id: fc.integer({ min: 1, max: 5 }), macs }), { selector: one => one.id }),
    {
      minLength: 2,
      maxLength: 6,
    },
  )
  fc.assert(
    fc.property(documents, edits => {
      let entries: NodeConfig[] = []
      for (const [index, edit] of edits.entries()) {
        const nodes = edit.map(one => aBizNode(`vm-${one.id}`, one.macs, `w${one.id}`))
        const status = { nodeStatuses: entries.map(recordOf) }
        const biz = aBiz({ nodes, generation: index + 1, status })
        const going = unfold(given({ biz, entries })).entries
        assert.deepEqual(lines(unfold(given({ biz })).entries).sort(), lines(going).sort())
        // Those that end are gone by the next edit.
        entries = going.filter(({ metadata }) => !metadata.deletionTimestamp).map(done)
      }
    }),
  )
})

test('numbers of a status that nobody can read are left out', () => {
  assert.deepEqual([...parseIndexes(['0 fa:16:3e:00:00:01', 'x', '12 fa:16:3e:00:00:02'])], [['fa:16:3e:00:00:01', 0]])
})
