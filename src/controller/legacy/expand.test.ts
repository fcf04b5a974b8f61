import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { completeInterfaces } from '../../contract/interfaces.ts'
import { indexesOf, parseIndexes, withIndexes } from '../../contract/legacy/biz-nodes.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import { aBiz, aBizNode, aMac } from './biz-config.fixture.ts'
import { entryName, recordOf } from './entry.ts'
import { type ExpandInput, expandBizConfig } from './expand.ts'

const now = new Date('2026-01-01T00:00:00Z')
const inputWith = (values: Partial<ExpandInput>): ExpandInput => ({
  ...{ biz: aBiz(), entries: [], mode: 'dual', now, indexesOf: () => new Map() },
  ...values,
})

/** `name generation: index mac, …` of each entry, and whether it is deleted. */
function lines(entries: readonly NodeConfig[]): string[] {
  return entries.map(({ metadata, spec }) => {
    const nics = spec.interfaces.map(({ id, macAddress }) => `${id} ${macAddress.slice(-2)}`).sort()
    return `${metadata.name} g${metadata.generation}: ${nics.join(', ')}${metadata.deletionTimestamp ? ' (deleted)' : ''}`
  })
}

/** The entry after a successful agent run. */
function configured(entry: NodeConfig): NodeConfig {
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
const configuredEntries = expandBizConfig(inputWith({ biz: aBiz({ nodes: two }) })).entries.map(configured)
const recorded = { nodeStatuses: configuredEntries.map(recordOf) }

test('every node of the BizConfig becomes an entry, with interface indexes in list order', () => {
  assert.deepEqual(lines(configuredEntries), ['all:vm-1 g1: 0 01, 1 02', 'all:vm-2 g1: 0 03'])
})

test('an edit of one node changes its entry and leaves the other entries identical', () => {
  const edited = [two[0], aBizNode('vm-2', [3, 4], 'w2')].filter(node => node !== undefined)
  const { entries } = expandBizConfig(
    inputWith({ biz: aBiz({ nodes: edited, generation: 2 }), entries: configuredEntries }),
  )
  assert.deepEqual(lines(entries), ['all:vm-1 g1: 0 01, 1 02', 'all:vm-2 g2: 0 03, 1 04'])
  assert.equal(entries[0], configuredEntries[0])
  assert.equal(entries[1]?.status?.observedGeneration, 1)
})

test('after a restart the status gives the same entries', () => {
  const { entries } = expandBizConfig(inputWith({ biz: aBiz({ nodes: two, generation: 7, status: recorded }) }))
  assert.deepEqual(lines(entries), lines(configuredEntries))
  assert.deepEqual(entries.map(recordOf), recorded.nodeStatuses)
})

test('an edit gives the same entries with and without a restart', () => {
  const edited = [aBizNode('vm-1', [2, 9], 'w1')]
  const running = expandBizConfig(
    inputWith({ biz: aBiz({ nodes: edited, generation: 2 }), entries: configuredEntries }),
  )
  const restarted = expandBizConfig(inputWith({ biz: aBiz({ nodes: edited, generation: 2, status: recorded }) }))
  assert.deepEqual(lines(running.entries), ['all:vm-1 g2: 0 09, 1 02', 'all:vm-2 g1: 0 03 (deleted)'])
  assert.deepEqual(lines(restarted.entries), lines(running.entries))
})

test('a record with another hash never counts for the current spec, even with the same generation', () => {
  const nodeStatuses = recorded.nodeStatuses.map(record => ({ ...record, specHash: 'another-hash' }))
  const [entry] = expandBizConfig(
    inputWith({ biz: aBiz({ nodes: two, generation: 1, status: { nodeStatuses } }) }),
  ).entries
  assert.equal(entry?.metadata.generation, 1)
  assert.equal(entry?.status?.observedGeneration, undefined)
})

test('an entry without an agent run needs no cleanup', () => {
  const fresh = expandBizConfig(inputWith({ biz: aBiz({ nodes: two }) })).entries
  assert.deepEqual(expandBizConfig(inputWith({ biz: aBiz({ generation: 2 }), entries: fresh })).entries, [])
})

test('a deleted BizConfig deletes its entries', () => {
  const biz = aBiz({ nodes: two, metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } })
  assert.deepEqual(
    lines(expandBizConfig(inputWith({ biz, entries: configuredEntries })).entries),
    lines(configuredEntries).map(line => `${line} (deleted)`),
  )
})

test('indexes come from a MultiNicNodeConfig of the machine if the status has none', () => {
  const indexesOf = (id: string) => (id === 'vm-1' ? new Map([[aMac(2), 0]]) : new Map())
  const { entries } = expandBizConfig(inputWith({ biz: aBiz({ nodes: two }), indexesOf }))
  assert.deepEqual(lines(entries)[0], 'all:vm-1 g1: 0 02, 1 01')
})

test('a node that an older controller configured starts with a check, which finds its indexes', () => {
  const status = { nodeStatuses: [{ attachedNodeId: 'vm-1', state: 'Configured' as const }] }
  const [entry] = expandBizConfig(inputWith({ biz: aBiz({ nodes: two, generation: 4, status }) })).entries
  assert.equal(entry?.metadata.annotations?.['multinic.io/adopt'], 'indexes')
  assert.equal(entry?.metadata.generation, 3)
})

for (const [name, values] of Object.entries({
  'by the mode of the controller': { mode: 'biz-read-only' as const, metadata: {} },
  'by its annotation': { mode: 'dual' as const, metadata: { annotations: { 'multinic.io/read-only': 'true' } } },
}))
  test(`a BizConfig that is read-only ${name} keeps its entries`, () => {
    const edited = [aBizNode('vm-1', [1, 2, 5], 'w1'), aBizNode('vm-3', [6], 'w3')]
    const biz = aBiz({ nodes: edited, generation: 2, metadata: values.metadata, status: recorded })
    const running = expandBizConfig(inputWith({ biz, entries: configuredEntries, mode: values.mode }))
    assert.deepEqual(lines(running.entries), lines(configuredEntries))
    assert.equal(running.ignored, 3)
    const restarted = expandBizConfig(inputWith({ biz, mode: values.mode }))
    assert.deepEqual(
      restarted.frozen.map(({ attachedNodeId, state, reason }) => `${attachedNodeId} ${state} ${reason}`),
      ['vm-1 Configured undefined', 'vm-3 Pending ReadOnly'],
    )
  })

test('deleting a read-only BizConfig leaves the interfaces on the nodes', () => {
  const metadata = { deletionTimestamp: '2026-01-01T00:00:00Z', annotations: { 'multinic.io/read-only': 'true' } }
  const { entries } = expandBizConfig(inputWith({ biz: aBiz({ nodes: two, metadata }), entries: configuredEntries }))
  for (const entry of entries) assert.ok(entry.metadata.annotations?.['multinic.io/force-delete'])
})

test('a node that is listed twice has two entries, each with its own record', () => {
  const nodes = [aBizNode('vm-1', [1]), aBizNode('vm-1', [2])]
  const entries = expandBizConfig(inputWith({ biz: aBiz({ nodes }) })).entries.map(configured)
  assert.deepEqual(
    entries.map(({ metadata }) => metadata.name),
    [entryName('all', 'vm-1'), entryName('all', 'vm-1', 2)],
  )
  const status = { nodeStatuses: entries.map(recordOf) }
  const again = expandBizConfig(inputWith({ biz: aBiz({ nodes, status }) })).entries
  assert.deepEqual(again.map(recordOf), status.nodeStatuses)
})

const macs = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { maxLength: 10 })

test('after any edits an index stays with its MAC address, is unique, and a new interface gets the lowest free one', () => {
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

test('after any edits a restart gives the same entries as no restart', () => {
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
        const continued = expandBizConfig(inputWith({ biz, entries })).entries
        assert.deepEqual(lines(expandBizConfig(inputWith({ biz })).entries).sort(), lines(continued).sort())
        // Deleted entries are gone by the next edit.
        entries = continued.filter(({ metadata }) => !metadata.deletionTimestamp).map(configured)
      }
    }),
  )
})

test('malformed indexes in a status are skipped', () => {
  assert.deepEqual([...parseIndexes(['0 fa:16:3e:00:00:01', 'x', '12 fa:16:3e:00:00:02'])], [['fa:16:3e:00:00:01', 0]])
})
