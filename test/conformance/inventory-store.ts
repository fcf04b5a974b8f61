/**
 * One suite for every store of the inventory: SQLite and PostgreSQL.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  historyEntry,
  type InventoryRecord,
  type InventoryWrite,
  inventoryRecord,
  providerCatalog,
} from '../../src/contract/inventory.ts'
import type { Filter } from '../../src/inventory/filter.ts'
import { aWrite, type OpenStore, usingStores } from '../support/inventory.ts'
import { inventoryAuditConformance } from './inventory-audit.ts'
import { inventoryHoldersConformance } from './inventory-holders.ts'
import { inventoryNamesConformance } from './inventory-names.ts'

/** `open` returns an empty store. */
export function inventoryStoreConformance(open: OpenStore): void {
  const { now, using } = usingStores(open)

  test('records are read back by provider and node name', () =>
    using(async store => {
      await store.put([aWrite('a', { nics: 2 }), aWrite('a', { providerId: 'p2' }), aWrite('b')])
      const records = await store.list()
      assert.deepEqual(
        records.map(({ providerId, nodeName }) => `${providerId}/${nodeName}`),
        ['p1/a', 'p1/b', 'p2/a'],
      )
      for (const record of records) inventoryRecord.parse(record)
      assert.equal((await store.get('p1', 'a'))?.config.interfaces.length, 2)
      assert.equal(await store.get('p1', 'c'), undefined)
      assert.deepEqual(
        (await store.list({ instanceId: 'vm-a' })).map(({ providerId }) => providerId),
        ['p1', 'p2'],
      )
      assert.equal((await store.list({ providerId: 'nobody' })).length, 0)
    }))

  test('a write whose caller has given up is not stored', () =>
    using(async store => {
      const givenUp = () => {
        throw new Error('the caller has given up')
      }
      await assert.rejects(store.put([aWrite('a', { nics: 2 })], [], { requireWaiting: givenUp }), /given up/)
      await store.put([aWrite('a')])
      assert.equal((await store.get('p1', 'a'))?.config.interfaces.length, 1)
      assert.equal((await store.history()).length, 1)
    }))

  test('every change is a history entry with time, kind, cause, and the record before and after', () =>
    using(async store => {
      await store.put([aWrite('a')])
      await store.put([aWrite('a', { nics: 2, why: 'a second port' })])
      await store.put([aWrite('a', { nics: 2, state: 'Failed', reason: 'ApplyFailed', why: 'status read' })])
      await store.put([aWrite('a', { removed: true, why: 'the last port was detached' })])
      const history = await store.history({ providerId: 'p1', nodeName: 'a' })
      for (const entry of history) historyEntry.parse(entry)
      assert.deepEqual(
        history.map(({ what, why, before, after }) => [
          what,
          why,
          before?.config.interfaces.length,
          after?.config.interfaces.length,
        ]),
        [
          ['removed', 'the last port was detached', 2, undefined],
          ['status', 'status read', 2, 2],
          ['config', 'a second port', 1, 2],
          ['created', 'a port was attached', undefined, 1],
        ],
      )
      assert.deepEqual(
        [...history].sort((a, b) => b.id - a.id),
        history,
      )
      assert.equal(await store.get('p1', 'a'), undefined)
      assert.deepEqual(await store.providersOf('a'), ['p1'])
      assert.deepEqual(
        (await store.history({ nodeName: 'a', limit: 1, before: history[1]?.id ?? 0 })).map(({ what }) => what),
        ['config'],
      )
      assert.deepEqual(
        (await store.history({ after: history[1]?.id ?? 0 })).map(({ what }) => what),
        ['removed'],
      )
    }))

  test('the last write of a node in one put wins', () =>
    using(async store => {
      await store.put([aWrite('a', { nics: 3 }), aWrite('a', { nics: 1 }), aWrite('b'), aWrite('b', { removed: true })])
      assert.equal((await store.get('p1', 'a'))?.config.interfaces.length, 1)
      assert.equal(await store.get('p1', 'b'), undefined)
      assert.equal((await store.history({ nodeName: 'a' })).length, 2)
      assert.equal((await store.list({ q: 'port-a-2' })).length, 0)
    }))

  test('the only node of a VM takes the place of its earlier nodes', () =>
    using(async store => {
      const renamed = { ...aWrite('new'), instanceId: 'vm-old' }
      await store.put([aWrite('old'), aWrite('other'), aWrite('old', { providerId: 'p2' })])
      await store.put([renamed])
      const names = async () => (await store.list()).map(({ providerId, nodeName }) => `${providerId}/${nodeName}`)
      assert.deepEqual(await names(), ['p1/new', 'p1/old', 'p1/other', 'p2/old'], 'a VM may have two nodes')
      await store.put([{ ...renamed, onlyNode: true }])
      assert.deepEqual(await names(), ['p1/new', 'p1/other', 'p2/old'])
      const [removal] = await store.history({ nodeName: 'old', providerId: 'p1' })
      assert.deepEqual([removal?.what, removal?.why], ['removed', 'the VM is node new now'])
      assert.deepEqual(
        (await store.find('port-old-0')).map(({ providerId }) => providerId),
        ['p2'],
      )
      await store.put([
        { ...aWrite('a'), instanceId: '', onlyNode: true },
        { ...aWrite('b'), instanceId: '' },
      ])
      assert.equal((await store.list()).length, 5, 'nodes without a VM ID are not the same node')
    }))

  test('two nodes that are written together are both kept', () =>
    using(async store => {
      const both = ['a', 'b'].map(name => ({ ...aWrite(name), instanceId: 'vm', onlyNode: true }))
      await store.put(both)
      await store.put(both)
      assert.equal((await store.list()).length, 2)
    }))

  test('an invalid record does not make the others fail', () =>
    using(async store => {
      const macAddress = '02:00:00:00:00:01'
      const twice = {
        nodeName: 'odd',
        interfaces: [
          { id: 3, macAddress, address: '10.0.0.1', cidr: '10.0.0.0/24' },
          { id: 3, macAddress },
        ],
      }
      await store.put([aWrite('odd', { config: twice }), aWrite('even')])
      assert.equal((await store.list()).length, 2)
      assert.equal((await store.list({ q: '10.0.0.1' })).length, 1)
    }))

  test('search finds nodes by prefix of an address, MAC address, port, VM, node or provider', () =>
    using(async store => {
      const v6 = { id: 0, macAddress: 'AA:bb:00:00:00:01', addresses: ['2001:DB8::0:5/64', '10.99.0.1/24'] }
      const config = { nodeName: 'six', interfaces: [v6] }
      await store.put([aWrite('alpha', { nics: 2 }), aWrite('beta'), aWrite('six', { config, providerId: 'prov-6' })])
      const alpha = (await store.get('p1', 'alpha'))?.config.interfaces ?? []
      const found = async (q: string) => (await store.list({ q })).map(({ nodeName }) => nodeName).join(' ')
      assert.equal(await found(alpha[1]?.address ?? ''), 'alpha')
      assert.equal(await found(alpha[0]?.macAddress.toUpperCase() ?? ''), 'alpha')
      assert.equal(await found('port-alpha-1'), 'alpha')
      assert.equal(await found('vm-be'), 'beta')
      assert.equal(await found('bet'), 'beta')
      assert.equal(await found('prov-6'), 'six')
      assert.equal(await found('2001:db8::5'), 'six')
      assert.equal(await found('2001:0db8:0::5'), 'six')
      assert.equal(await found('10.99.0.1/24'), 'six')
      for (const q of ['2001:DB8::5', '2001:db8:', '10.99.0.1/24', '10.9', 'AA:BB', 'aa:bb:00', ''])
        assert.ok(
          (await store.find(q)).some(({ nodeName }) => nodeName === 'six'),
          q,
        )
      assert.equal(await found('aa:bb'), 'six')
      assert.equal(await found('%'), '')
      assert.equal(await found("' or 1=1"), '')
      await store.put([aWrite('alpha', { nics: 1 })])
      assert.equal(await found('port-alpha-1'), '')
    }))

  test('pages have no gaps and no duplicates', () =>
    using(async store => {
      const providers = ['a', 'b', 'c']
      await store.put(providers.flatMap(providerId => ['1', '2', '3'].map(name => aWrite(name, { providerId }))))
      const seen: string[] = []
      let last: { providerId: string; nodeName: string } | undefined
      for (;;) {
        const page = await store.list({ limit: 2, ...(last ? { after: last } : {}) })
        if (page.length === 0) break
        seen.push(...page.map(({ providerId, nodeName }) => providerId + nodeName))
        last = page.at(-1)
      }
      assert.deepEqual(seen, ['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3'])
    }))

  test('the state at a past time is returned, also by address', () =>
    using(async store => {
      const before = now().toISOString()
      await store.put([aWrite('a', { nics: 2 })])
      const then = now().toISOString()
      await store.put([aWrite('a', { nics: 1 }), aWrite('b')])
      const later = now().toISOString()
      await store.put([aWrite('a', { removed: true })])
      const names = async (at: string, q?: string) =>
        (await store.at(at, q ? { q } : {})).map(({ nodeName, config }) => `${nodeName}${config.interfaces.length}`)
      assert.deepEqual(await names(before), [])
      assert.deepEqual(await names(then), ['a2'])
      assert.deepEqual(await names(later), ['a1', 'b1'])
      assert.deepEqual(await names(now().toISOString()), ['b1'])
      assert.deepEqual(await names(then, 'port-a-1'), ['a2'])
      assert.deepEqual(await names(later, 'port-a-1'), [])
      const [, nic] = (await store.at(then))[0]?.config.interfaces ?? []
      for (const q of [
        nic?.address,
        `${nic?.address}/16`,
        nic?.macAddress,
        nic?.macAddress.toUpperCase(),
        'vm-',
        'p1',
        '',
      ])
        assert.deepEqual(await names(then, q), ['a2'], q)
      const v6 = { id: 0, macAddress: 'AA:bb:00:00:00:01', addresses: ['2001:DB8::0:5/64'] }
      await store.put([aWrite('six', { config: { nodeName: 'six', interfaces: [v6] } })])
      const since = now().toISOString()
      for (const q of ['2001:db8::5', '2001:0db8:0::5', '2001:DB8', 'aa:bb', 'AA:BB:00'])
        assert.deepEqual(await names(since, q), ['six1'], q)
    }))

  test('providers are listed in order with their nodes and the newest time', () =>
    using(async store => {
      assert.deepEqual(await store.providers(), { providers: [] })
      await store.put([aWrite('b', { providerId: 'y' }), aWrite('a', { providerId: 'y', nics: 4 })])
      await store.put([aWrite('c', { providerId: 'x' })])
      await store.put([aWrite('b', { providerId: 'y', state: 'Failed' })])
      const { providers } = providerCatalog.parse(await store.providers())
      assert.deepEqual(
        providers.map(({ providerId, nodeCount, nodes }) => [providerId, nodeCount, nodes.map(node => node.nodeName)]),
        [
          ['x', 1, ['c']],
          ['y', 2, ['a', 'b']],
        ],
      )
      assert.equal(providers[1]?.nodes[0]?.interfaceCount, 4)
      assert.equal(providers[1]?.updatedAt, providers[1]?.nodes[1]?.updatedAt)
    }))

  test('pruning deletes old history but keeps the state at that time', () =>
    using(async store => {
      await store.put([aWrite('quiet'), aWrite('busy'), aWrite('gone')])
      await store.put([aWrite('busy', { nics: 2 }), aWrite('gone', { removed: true })])
      const cut = now().toISOString()
      await store.put([aWrite('busy', { nics: 3 })])
      assert.equal(await store.pruneHistory(cut), 3)
      const remaining = (await store.history()).map(
        ({ what, after }) => `${what} ${after?.nodeName} ${after?.config.interfaces.length}`,
      )
      assert.deepEqual(remaining, ['config busy 3', 'config busy 2', 'created quiet 1'])
      assert.deepEqual(
        (await store.at(cut)).map(({ nodeName, config }) => `${nodeName} ${config.interfaces.length}`),
        ['busy 2', 'quiet 1'],
      )
      assert.equal(await store.pruneHistory(cut), 0)
    }))

  inventoryHoldersConformance(using, now)
  inventoryAuditConformance(using)
  inventoryNamesConformance(using, now)

  test('values are found with their location', () =>
    using(async store => {
      await store.put([aWrite('alpha', { nics: 2 })])
      const mac = (await store.get('p1', 'alpha'))?.config.interfaces[1]?.macAddress ?? ''
      assert.deepEqual(await store.find(mac.toUpperCase()), [
        { kind: 'mac', value: mac, providerId: 'p1', nodeName: 'alpha', interface: 'multinic1' },
      ])
      assert.deepEqual(
        (await store.find('port-a')).map(({ kind, value }) => `${kind} ${value}`),
        ['port port-alpha-0', 'port port-alpha-1'],
      )
      assert.deepEqual(
        (await store.find('vm-')).map(({ kind, value }) => `${kind} ${value}`),
        ['vm vm-alpha'],
      )
      assert.equal((await store.find('', 3)).length, 3)
    }))

  test('filters by state, network, subnet and OpenstackConfig, now and at a past time', () =>
    using(async store => {
      const [a, b, c] = ['a', 'b', 'c'].map(name => aWrite(name)) as [InventoryWrite, InventoryWrite, InventoryWrite]
      Object.assign(a.config.interfaces[0] ?? {}, { networkId: 'net-1', subnetId: 'sub-1', source: 'ns/one' })
      Object.assign(b.config.interfaces[0] ?? {}, { networkId: 'net-1', subnetId: 'sub-2', source: 'ns/two' })
      await store.put([{ ...a, state: 'Configured' }, { ...b, state: 'Failed' }, c])
      const then = now().toISOString()
      const expected: [Filter, string][] = [
        [{ state: 'Failed' }, 'b'],
        [{ state: 'Pending' }, 'c'],
        [{ networkId: 'net-1' }, 'a b'],
        [{ networkId: 'net-1', subnetId: 'sub-2' }, 'b'],
        [{ source: 'ns/one', state: 'Configured', q: '10.' }, 'a'],
        [{ source: 'ns/one', state: 'Failed' }, ''],
      ]
      const names = (records: InventoryRecord[]) => records.map(({ nodeName }) => nodeName).join(' ')
      for (const [filter, found] of expected) {
        assert.equal(names(await store.list(filter)), found, JSON.stringify(filter))
        assert.equal(names(await store.at(then, filter)), found, `then: ${JSON.stringify(filter)}`)
      }
    }))

  test('many records come in pages, now and at a past time', () =>
    using(async store => {
      const many = Array.from({ length: 1_234 }, (_, i) => aWrite(`n${String(i).padStart(4, '0')}`))
      await store.put(many)
      const then = now().toISOString()
      await store.put(many.slice(0, 34).map(write => ({ ...write, removed: true })))
      const sizes = async (at?: string) => {
        const seen: string[] = []
        const pages: number[] = []
        for await (const page of store.pages({}, at)) {
          pages.push(page.length)
          seen.push(...page.map(({ nodeName }) => nodeName))
        }
        assert.deepEqual(seen, [...seen].sort())
        assert.ok(Math.max(...pages) <= 500)
        return seen.length
      }
      assert.equal(await sizes(), 1_200)
      assert.equal(await sizes(then), 1_234)
      assert.equal((await store.list({ limit: 700 })).length, 700)
      assert.equal((await store.at(then, { limit: 700 })).at(-1)?.nodeName, 'n0699')
      const after = { providerId: 'p1', nodeName: 'n1229' }
      assert.equal((await store.at(then, { after })).length, 4)
    }))

  test('a repeated put changes nothing', () =>
    using(async store => {
      const writes = Array.from({ length: 300 }, (_, i) => aWrite(`n${i}`, { nics: 3, state: 'Configured' }))
      await store.put(writes)
      const version = await store.version()
      await store.put(writes)
      await store.put([aWrite('never-there', { removed: true })])
      assert.equal(await store.version(), version)
      assert.equal((await store.history({ nodeName: 'n7' })).length, 1)
    }))

  test('names are sorted by bytes, whatever the collation of the database', () =>
    using(async store => {
      const names = ['B', 'Z-9', 'a', 'a-1', 'a.1', 'a1', 'ab', 'node_1', 'é', '가']
      await store.put(names.toReversed().map(name => aWrite(name)))
      assert.deepEqual(
        (await store.list()).map(({ nodeName }) => nodeName),
        names,
      )
      assert.deepEqual(
        (await store.find('a')).filter(({ kind }) => kind === 'node').map(({ value }) => value),
        ['a', 'a-1', 'a.1', 'a1', 'ab'],
      )
      assert.deepEqual(
        (await store.list({ q: '가' })).map(({ nodeName }) => nodeName),
        ['가'],
      )
    }))

  test('any text can be stored and queried', () =>
    using(async store => {
      const odd = ['\u0000', "'; drop table nodes; --", '\\', '%_', '\ud800', '\u{1f600}', 'x'.repeat(253)]
      await store.put(odd.map((text, at) => aWrite(`odd-${at}`, { instanceId: text, why: text, message: text })))
      assert.equal((await store.list()).length, odd.length)
      for (const text of odd) {
        await store.find(text)
        await store.list({ q: text, providerId: text, nodeName: text, instanceId: text })
        await store.history({ nodeName: text })
        await store.at(now().toISOString(), { q: text })
      }
      assert.equal((await store.list({ instanceId: "'; drop table nodes; --" })).length, 1)
    }))

  test('concurrent puts are serialized: no change is lost, and IDs follow the commit order', () =>
    using(async store => {
      const puts = Array.from({ length: 20 }, (_, i) =>
        store.put([aWrite('shared', { lastConfigHash: `h${i}`, why: `${i}` }), aWrite(`own-${i}`)]),
      )
      await Promise.all(puts)
      assert.equal((await store.list()).length, 21)
      const entries = (await store.history({ nodeName: 'shared' })).toReversed()
      assert.equal(entries.length, 20)
      for (const [at, entry] of entries.entries())
        assert.equal(entry.before?.lastConfigHash, entries[at - 1]?.after?.lastConfigHash)
    }))
}
