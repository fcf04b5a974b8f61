/**
 * Verdicts in the store of the inventory: one suite for SQLite and PostgreSQL.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VerdictWrite } from '../../src/contract/operator-api.ts'
import type { Store } from '../../src/inventory/store.ts'
import { positionOf, type VerdictFilter } from '../../src/inventory/verdicts.ts'
import { aPlan, aWrite, type OpenStore, someVerdicts, usingStores } from '../support/inventory.ts'

type Written = VerdictWrite['verdicts'][number]

const on = (vm: string, port: string, reason = 'PortStatusNotAllowed', message = 'm'): Written => ({
  vm,
  portId: `${vm}-${port}`,
  reason,
  message,
})

/** `open` returns an empty store. */
export function inventoryVerdictsConformance(open: OpenStore): void {
  const { using } = usingStores(open)
  const texts = async (store: Store, filter: Partial<VerdictFilter> = {}) =>
    (await store.verdicts({ limit: 1_000, ...filter }))?.map(
      ({ config, vm, portId, reason }) => `${config} ${portId ?? vm} ${reason}`,
    )

  test('an inventory without verdicts says so, and one with an object without verdicts says that too', () =>
    using(async store => {
      assert.equal(await texts(store), undefined)
      await store.put([], [someVerdicts([])])
      assert.deepEqual(await texts(store), [])
    }))

  test('a verdict is read back with all its fields and the remedy of the catalogue', () =>
    using(async store => {
      const portSecurity = {
        enabled: true,
        allowedAddressPairs: [{ ipAddress: '10.0.0.0/24', macAddress: '02:00:00:00:00:01' }],
      }
      const selected = { ...on('a', '1', 'Selected'), vmName: 'web "1"', name: 'multinic0', portSecurity }
      await store.put([], [someVerdicts([selected, { vm: 'gone', reason: 'VmNotFound', message: 'server gone' }])])
      const [first, second] = (await store.verdicts({ limit: 10 })) ?? []
      const { remedy: _, ...read } = first ?? assert.fail()
      assert.deepEqual(read, { config: 'multinic-system/main', providerId: 'p1', ...selected })
      const { remedy, ...gone } = second ?? assert.fail()
      assert.deepEqual(gone, {
        ...{
          config: 'multinic-system/main',
          providerId: 'p1',
          vm: 'gone',
          reason: 'VmNotFound',
          message: 'server gone',
        },
      })
      assert.ok(remedy)
    }))

  test('a reason that a newer operator knows is read back without a remedy', () =>
    using(async store => {
      await store.put([], [someVerdicts([{ vm: 'a', reason: 'OfTheFuture', message: 'm' }])])
      assert.deepEqual(await store.verdicts({ limit: 1 }), [
        { config: 'multinic-system/main', providerId: 'p1', vm: 'a', reason: 'OfTheFuture', message: 'm' },
      ])
    }))

  test('the last plan of an object is stored with its time, and leaves with the object', () =>
    using(async store => {
      const emptyRange = { after: '', upTo: '' }
      await store.put([], [someVerdicts([on('a', '1')])])
      assert.deepEqual(await store.plans('multinic-system/main'), [])
      await store.put([], [someVerdicts([], { ...emptyRange, plan: aPlan('w1') })])
      const [first] = await store.plans('multinic-system/main')
      assert.deepEqual(first?.plan, aPlan('w1'))
      assert.deepEqual(await texts(store), ['multinic-system/main a-1 PortStatusNotAllowed'])
      const version = await store.version()
      // A restarted operator writes the same again; a write of verdicts alone keeps it.
      await store.put([], [someVerdicts([], { ...emptyRange, plan: aPlan('w1') }), someVerdicts([on('a', '1')])])
      assert.equal(await store.version(), version)
      assert.deepEqual(await store.plans('multinic-system/main'), [first])
      const plan = aPlan('w2', { heldRemovals: ['w1: port-1'] })
      await store.put([aWrite('w2')], [someVerdicts([], { ...emptyRange, plan })])
      const [second] = await store.plans('multinic-system/main')
      assert.deepEqual(second?.plan, plan)
      assert.ok((second?.plannedAt ?? '') > (first?.plannedAt ?? ''))
      assert.deepEqual(await store.plans('multinic-system/other'), [])
      await store.put([], [someVerdicts([], { removed: true })])
      assert.deepEqual(await store.plans('multinic-system/main'), [])
    }))

  test('a write replaces the verdicts on its range of VMs, and no others', () =>
    using(async store => {
      await store.put([], [someVerdicts([on('a', '1'), on('b', '1'), on('b', '2'), on('c', '1')])])
      await store.put([], [someVerdicts([on('b', '2', 'Selected')], { after: 'a', upTo: 'b' })])
      const expected = ['a-1 PortStatusNotAllowed', 'b-2 Selected', 'c-1 PortStatusNotAllowed']
      assert.deepEqual(
        await texts(store),
        expected.map(text => `multinic-system/main ${text}`),
      )
      await store.put([], [someVerdicts([], { after: 'a' })])
      assert.deepEqual(await texts(store), ['multinic-system/main a-1 PortStatusNotAllowed'])
      // Outside of its range: it must not fail.
      await store.put([], [someVerdicts([on('a', '1')], { after: 'b' })])
    }))

  test('objects of other providers and names are apart, and a deleted object takes its verdicts with it', () =>
    using(async store => {
      const write = someVerdicts([on('a', '1')])
      await store.put([], [write, { ...write, providerId: 'p2' }, { ...write, config: 'ns/other' }])
      await store.put([], [{ ...write, verdicts: [], removed: true }])
      assert.deepEqual(
        (await store.verdicts({ limit: 9 }))?.map(({ providerId, config }) => `${providerId} ${config}`),
        ['p1 ns/other', 'p2 multinic-system/main'],
      )
      await store.put([], [{ ...write, verdicts: [], removed: true }])
    }))

  test('verdicts are found by object, provider, VM, port and kind', () =>
    using(async store => {
      const written = [on('a', '0', 'PrimaryPort'), on('a', '1', 'Selected'), on('a', '2'), on('b', '2')]
      await store.put([], [someVerdicts(written), someVerdicts(written, { providerId: 'p2', config: 'ns/x' })])
      const ports = async (filter: Partial<VerdictFilter>) =>
        (await store.verdicts({ limit: 10, ...filter }))?.map(({ providerId, portId }) => `${providerId} ${portId}`)
      assert.deepEqual(await ports({ kind: 'ignored' }), ['p1 a-2', 'p1 b-2', 'p2 a-2', 'p2 b-2'])
      assert.deepEqual(await ports({ kind: 'selected', providerId: 'p2' }), ['p2 a-1'])
      assert.deepEqual(await ports({ port: 'a-0' }), ['p1 a-0', 'p2 a-0'])
      assert.deepEqual(await ports({ vm: 'b' }), ['p1 b-2', 'p2 b-2'])
      assert.deepEqual(await ports({ config: 'ns/x', kind: 'ignored' }), ['p2 a-2', 'p2 b-2'])
      assert.deepEqual(await ports({ config: 'nobody' }), [])
    }))

  test('pages have no gaps and no duplicates, in every order of writing', () =>
    using(async store => {
      const vms = ['b', 'B', 'é', '👍', '', 'a b', 'z']
      for (const config of ['ns/b', 'ns/a'])
        await store.put(
          [],
          [
            someVerdicts(
              vms.toReversed().flatMap(vm => [on(vm, '2'), on(vm, '1'), { vm, reason: 'VmNotFound', message: 'm' }]),
              { config },
            ),
          ],
        )
      const seen: string[] = []
      for (let after: VerdictFilter['after']; ; ) {
        const page = (await store.verdicts({ limit: 3, ...(after && { after }) })) ?? []
        seen.push(...page.map(one => positionOf(one).join(' ')))
        const last = page.at(-1)
        if (!last) break
        after = positionOf(last)
      }
      assert.equal(new Set(seen).size, 2 * 3 * vms.length)
      const inBytes = [...seen].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      assert.deepEqual(seen, inBytes)
    }))

  test('the version changes with the verdicts, and not with a repeated write', () =>
    using(async store => {
      const records = [aWrite('a')]
      const write = someVerdicts([on('a', '1'), { ...on('a', '2', 'Selected'), name: 'multinic0' }])
      await store.put(records, [write])
      const version = await store.version()
      await store.put(records, [write, { ...write, verdicts: write.verdicts.toReversed() }])
      assert.equal(await store.version(), version)
      await store.put(records, [someVerdicts([on('a', '1', 'PortStatusNotAllowed', 'another message')])])
      assert.notEqual(await store.version(), version)
      assert.equal((await store.history({ nodeName: 'a' })).length, 1, 'a verdict is no change of the node')
    }))

  test('the version changes with an object, its plan and its deletion, and not if they are written again', () =>
    using(async store => {
      const none = someVerdicts([], { after: '', upTo: '' })
      const writes = [none, { ...none, plan: aPlan('w1') }, { ...none, removed: true }]
      for (const write of writes) {
        const before = await store.version()
        await store.put([], [write])
        const after = await store.version()
        assert.notEqual(after, before)
        await store.put([], [write])
        assert.equal(await store.version(), after)
      }
    }))

  test('verdicts are stored in the transaction of the records: both or none', () =>
    using(async store => {
      const broken = { ...on('a', '1'), message: null as never }
      await assert.rejects(store.put([aWrite('a')], [someVerdicts([broken])]))
      assert.deepEqual([await store.list(), await texts(store)], [[], undefined])
      await assert.rejects(store.put([{ ...aWrite('a'), why: null as never }], [someVerdicts([on('a', '1')])]))
      assert.deepEqual([await store.list(), await texts(store)], [[], undefined])
    }))

  test('a large fleet is written and replaced', () =>
    using(async store => {
      const vms = Array.from({ length: 1_500 }, (_, n) => `vm-${n}`)
      await store.put([], [someVerdicts(vms.map(vm => on(vm, '1')))])
      await store.put([], [someVerdicts(vms.slice(1).map(vm => on(vm, '1', 'Selected')))])
      assert.equal((await store.verdicts({ limit: 5_000 }))?.length, 1_499)
      assert.equal((await store.verdicts({ limit: 5_000, kind: 'ignored' }))?.length, 0)
    }))
}
