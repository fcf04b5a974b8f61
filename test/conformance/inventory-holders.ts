/**
 * The part of the store suite about holders: who has or ever had an address, MAC address or port.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import type { Store } from '../../src/inventory/store.ts'
import { aWrite } from '../support/inventory.ts'

export function inventoryHoldersConformance(
  using: (work: (store: Store) => Promise<void>) => Promise<void>,
  now: () => Date,
): void {
  const holdersOf = async (store: Store, q: string) =>
    (await store.holders(q)).holders.map(
      ({ nodeName, interface: nic, from, to }) => `${nodeName} ${nic} ${from}..${to ?? ''}`,
    )

  test('experience H3: every holder of an address, MAC address or port is found, however old', () =>
    using(async store => {
      const at = async (write: InventoryWrite) => {
        await store.put([write])
        const [{ at } = { at: '' }] = await store.history({ limit: 1 })
        return at
      }
      const nic = { id: 1, portId: 'port-x', macAddress: 'AA:bb:00:00:00:01' }
      const withAddresses = (name: string, ...addresses: string[]) =>
        aWrite(name, {
          config: { nodeName: name, interfaces: [{ ...nic, addresses }] },
          lastConfigHash: `${addresses}`,
        })
      const first = await at(withAddresses('a', '10.99.0.1/24', '2001:DB8::0:5/64'))
      const second = await at(withAddresses('a', '10.99.0.2/24'))
      const third = await at(aWrite('a', { removed: true }))
      const fourth = await at(withAddresses('b', '10.99.0.1/24'))
      await store.put(Array.from({ length: 1_100 }, (_, i) => aWrite(`n${i}`)))

      assert.deepEqual(await holdersOf(store, '10.99.0.1'), [
        `b multinic1 ${fourth}..`,
        `a multinic1 ${first}..${second}`,
      ])
      for (const q of ['2001:db8::5', '2001:0DB8:0::5', '2001:db8::5/64'])
        assert.deepEqual(await holdersOf(store, q), [`a multinic1 ${first}..${second}`], q)
      assert.deepEqual(await holdersOf(store, '10.99.0.2/24'), [`a multinic1 ${second}..${third}`])
      for (const q of ['port-x', 'aa:BB:00:00:00:01'])
        assert.deepEqual(await holdersOf(store, q), [`b multinic1 ${fourth}..`, `a multinic1 ${first}..${third}`], q)
      assert.deepEqual(await holdersOf(store, '10.99.0'), [])
      assert.deepEqual(await store.holders('10.99.0.9'), { holders: [], never: true })
    }))

  test('holders of several changes in one put have their order', () =>
    using(async store => {
      await store.put([aWrite('a', { nics: 2 }), aWrite('a'), aWrite('a', { nics: 2 }), aWrite('a', { removed: true })])
      const { holders } = await store.holders('port-a-1')
      assert.equal(holders.length, 2)
      for (const { from, to } of holders) assert.ok(to !== undefined && from < to)
      assert.equal((await store.holders('port-a-0')).holders.length, 1)
    }))

  test('experience H3: a holder that the retention deleted was not never', () =>
    using(async store => {
      await store.put([aWrite('quiet'), aWrite('gone')])
      await store.put([aWrite('gone', { removed: true })])
      const early = (await store.history({ limit: 1 }))[0]?.at ?? ''
      await store.pruneHistory(early)
      assert.deepEqual(await store.holders('port-nobody-0'), { holders: [], never: true }, 'nothing was deleted')
      const cut = now().toISOString()
      await store.pruneHistory(cut)
      assert.deepEqual(await store.holders('port-gone-0'), { holders: [], never: false, keptSince: cut })
      const quiet = await store.holders('port-quiet-0')
      assert.equal(quiet.holders.length, 1)
      assert.equal(quiet.holders[0]?.to, undefined)
      assert.ok((quiet.holders[0]?.from ?? cut) < cut, 'the current holder keeps its beginning')
    }))

  test('a value with very many holders: the current ones and the latest are listed, and the answer says that there are more', () =>
    using(async store => {
      const holding = (nodeName: string, removed = false) =>
        aWrite(nodeName, {
          config: { nodeName, interfaces: [{ id: 0, macAddress: '02:00:00:00:99:01', portId: `port-${nodeName}` }] },
          removed,
        })
      await store.put([holding('steady')])
      await store.put(Array.from({ length: 1_010 }, () => [holding('busy'), holding('busy', true)]).flat())
      const { holders, more, never } = await store.holders('02:00:00:00:99:01')
      assert.deepEqual([holders.length, more, never], [1_000, true, false])
      assert.deepEqual([holders[0]?.nodeName, holders[0]?.to], ['steady', undefined])
      const ends = holders.slice(1).map(({ to = '' }) => to)
      assert.deepEqual(ends, ends.toSorted().reverse(), 'the latest first')
      assert.equal((await store.holders('port-steady')).more, undefined)
    }))
}
