/**
 * Names in records, search and history: part of the suite of every store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import type { Store } from '../../src/inventory/store.ts'
import { aWrite } from '../support/inventory.ts'

export function inventoryNamesConformance(
  using: (work: (store: Store) => Promise<void>) => Promise<void>,
  now: () => Date,
): void {
  test('experience M10: nodes are found by the names of their VM, subnets and networks', () =>
    using(async store => {
      const named = (name: string, instanceName: string): InventoryWrite => {
        const write = aWrite('alpha', { nics: 2, instanceName })
        Object.assign(write.config.interfaces[1] ?? {}, { subnetName: name, networkName: `net ${name}`, alias: 'a' })
        return write
      }
      const hits = async (q: string) =>
        (await store.find(q)).map(hit => [hit.kind, hit.value, hit.nodeName, hit.interface].filter(Boolean).join(' '))
      const listed = async (q: string) => (await store.list({ q })).map(({ nodeName }) => nodeName)
      await store.put([named('Storage 1', 'web server'), aWrite('beta', { instanceName: 'beta' })])
      assert.deepEqual(await hits('Sto'), ['subnet Storage 1 alpha multinic1'])
      assert.deepEqual(await hits('net S'), ['network net Storage 1 alpha multinic1'])
      assert.deepEqual(await hits('web'), ['vm web server alpha'])
      assert.deepEqual(await hits('bet'), ['node beta beta'])
      for (const q of ['Sto', 'net Storage', 'web s']) assert.deepEqual(await listed(q), ['alpha'], q)
      const { instanceName, config } = (await store.get('p1', 'alpha')) ?? {}
      assert.equal(instanceName, 'web server')
      assert.equal(config?.interfaces[1]?.alias, 'a')
      const then = now().toISOString()

      await store.put([named('backup', 'database')])
      assert.deepEqual(await hits('Sto'), [])
      assert.deepEqual(await hits('backup'), ['subnet backup alpha multinic1'])
      assert.deepEqual(await hits('data'), ['vm database alpha'])
      assert.equal((await store.history({ providerId: 'p1', nodeName: 'alpha' })).length, 1)
      const past = async (q: string) => (await store.at(then, { q })).map(({ nodeName }) => nodeName)
      for (const q of ['Sto', 'net Storage', 'web s']) assert.deepEqual(await past(q), ['alpha'], q)
      assert.deepEqual(await past('backup'), [])

      await store.put([{ ...named('third', 'web'), state: 'Failed', reason: 'ApplyFailed' }])
      const [entry] = await store.history({ providerId: 'p1', nodeName: 'alpha' })
      assert.equal(entry?.what, 'status')
      assert.equal(entry?.after?.config.interfaces[1]?.subnetName, 'third')
      assert.deepEqual(await hits('third'), ['subnet third alpha multinic1'])
    }))

  test('nodes are found by the name of their provider, and a new name alone is no history', () =>
    using(async store => {
      const named = (providerName?: string) => [
        aWrite('alpha', { ...(providerName && { providerName }) }),
        aWrite('beta', { providerId: 'p2', providerName: 'Busan' }),
      ]
      const hits = async (q: string) => (await store.find(q)).map(hit => `${hit.kind} ${hit.value} ${hit.nodeName}`)
      const listed = async (q: string) => (await store.list({ q })).map(({ nodeName }) => nodeName)
      const catalog = async () => (await store.providers()).providers.map(({ providerName }) => providerName)
      await store.put(named('Seoul 1'))
      assert.deepEqual(await hits('Seo'), ['provider Seoul 1 alpha'])
      assert.deepEqual(await listed('Seo'), ['alpha'])
      assert.deepEqual(await catalog(), ['Seoul 1', 'Busan'])
      assert.equal((await store.get('p1', 'alpha'))?.providerName, 'Seoul 1')
      const then = now().toISOString()

      await store.put(named('Incheon'))
      assert.deepEqual(await hits('Seo'), [])
      assert.deepEqual(await listed('Inch'), ['alpha'])
      assert.deepEqual(await catalog(), ['Incheon', 'Busan'])
      assert.equal((await store.history({ nodeName: 'alpha' })).length, 1)
      assert.deepEqual(
        (await store.at(then, { q: 'Seo' })).map(({ nodeName, providerName }) => `${nodeName} ${providerName}`),
        ['alpha Seoul 1'],
      )
      assert.deepEqual(
        (await store.holders('port-alpha-0')).holders.map(({ providerName }) => providerName),
        ['Incheon'],
      )

      await store.put(named())
      assert.deepEqual(await catalog(), [undefined, 'Busan'])
      assert.equal((await store.get('p1', 'alpha'))?.providerName, undefined)
    }))
}
