import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { aWrite } from '../../test/inventory.ts'
import { historyEntry, inventoryRecord, providerCatalog } from '../contract/inventory.ts'
import { createLog, silent } from '../log.ts'
import { openStore, type Store } from './store.ts'

let dir: string
before(async () => {
  dir = await mkdtemp(join(tmpdir(), 'multinic-inventory-'))
})
after(() => rm(dir, { recursive: true }))

let count = 0
let time = 0
const now = () => new Date(Date.UTC(2026, 0, 1) + 1000 * time++)
const newPath = () => join(dir, `inventory-${count++}.db`)

async function using(path: string, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore({ path, log: silent, now })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const content = (path: string) =>
  [path, `${path}-wal`].map(file =>
    existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : '',
  )

test('what was put is read back, by its key', () =>
  using(newPath(), async store => {
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

test('a repeated put leaves no history and the file untouched', () => {
  const path = newPath()
  return using(path, async store => {
    const writes = Array.from({ length: 300 }, (_, i) => aWrite(`n${i}`, { nics: 3, state: 'Configured' }))
    await store.put(writes)
    const before = content(path)
    await store.put(writes)
    await store.put([aWrite('never-there', { removed: true })])
    assert.deepEqual(content(path), before)
    assert.equal((await store.history({ nodeName: 'n7' })).length, 1)
  })
})

test('every change is history: when, what, why, before and after', () =>
  using(newPath(), async store => {
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

test('a node that is written twice in one put ends as the last write says', () =>
  using(newPath(), async store => {
    await store.put([aWrite('a', { nics: 3 }), aWrite('a', { nics: 1 }), aWrite('b'), aWrite('b', { removed: true })])
    assert.equal((await store.get('p1', 'a'))?.config.interfaces.length, 1)
    assert.equal(await store.get('p1', 'b'), undefined)
    assert.equal((await store.history({ nodeName: 'a' })).length, 2)
    assert.equal((await store.list({ q: 'port-a-2' })).length, 0)
  }))

test('one odd record does not keep the others out', () =>
  using(newPath(), async store => {
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

test('search finds by the beginning of an address, MAC, port, VM, node or provider', () =>
  using(newPath(), async store => {
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
    assert.equal(await found('aa:bb'), 'six')
    assert.equal(await found('%'), '')
    assert.equal(await found("' or 1=1"), '')
    await store.put([aWrite('alpha', { nics: 1 })])
    assert.equal(await found('port-alpha-1'), '')
  }))

test('pages follow each other without a gap or a repetition', () =>
  using(newPath(), async store => {
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

test('the state at a time is what was known then, and who had an address', () =>
  using(newPath(), async store => {
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
  }))

test('providers are listed with their nodes, in order, with the newest time', () =>
  using(newPath(), async store => {
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

test('the file is for its owner alone, and is there after a restart', async () => {
  const path = join(dir, 'deep', 'er', 'inventory.db')
  await using(path, store => store.put([aWrite('a')]))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  await using(path, async store => assert.equal((await store.list()).length, 1))
})

test('a damaged file is put aside with a word, and a new one begun', async () => {
  const path = newPath()
  writeFileSync(path, 'this was a database once'.repeat(100))
  const lines: string[] = []
  const store = await openStore({ path, log: createLog({}, { write: line => lines.push(line) }), now })
  await store.put([aWrite('a')])
  await store.close()
  assert.match(lines.join(''), /put aside/)
  const aside = (await readdir(dir)).find(name => name.includes('.damaged-'))
  assert.match(readFileSync(join(dir, aside ?? ''), 'utf8'), /^this was a database once/)
})

test('old history is forgotten, and what a node was since then is still told', () =>
  using(newPath(), async store => {
    await store.put([aWrite('quiet'), aWrite('busy'), aWrite('gone')])
    await store.put([aWrite('busy', { nics: 2 }), aWrite('gone', { removed: true })])
    const cut = now().toISOString()
    await store.put([aWrite('busy', { nics: 3 })])
    assert.equal(await store.forget(cut), 3)
    const left = (await store.history()).map(
      ({ what, after }) => `${what} ${after?.nodeName} ${after?.config.interfaces.length}`,
    )
    assert.deepEqual(left, ['config busy 3', 'config busy 2', 'created quiet 1'])
    assert.deepEqual(
      (await store.at(cut)).map(({ nodeName, config }) => `${nodeName} ${config.interfaces.length}`),
      ['busy 2', 'quiet 1'],
    )
    assert.equal(await store.forget(cut), 0)
  }))

test('single values are found with where they are', () =>
  using(newPath(), async store => {
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
