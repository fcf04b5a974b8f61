/**
 * The formats on disk: an upgraded agent must read the journal and the records of an older one, and the other way round.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Host } from '../host/host.ts'
import { readRefusals, saveRefusals } from '../observe/refusals-of-boot.ts'
import { hostPaths } from '../paths.ts'
import type { Change } from '../state/change.ts'
import { parseRecord, recordText } from '../state/records.ts'
import type { Unit } from '../state/unit.ts'
import { readJournal, writeJournal } from './journal.ts'

/** A disk in memory. */
function memoryHost(): { host: Host; files: Map<string, string> } {
  const files = new Map<string, string>()
  const host = {
    makeDirectory: () => {},
    list: (directory: string) =>
      [...files.keys()].filter(path => path.startsWith(`${directory}/`)).map(path => path.slice(directory.length + 1)),
    readFile: (path: string) => ({ text: files.get(path) ?? '', mode: 0o600, uid: 0, gid: 0 }),
    readValue: (path: string) => files.get(path)?.trim(),
    writeFile: (path: string, { text }: { text: string }) => void files.set(path, text),
    rename(from: string, to: string) {
      files.set(to, files.get(from) ?? '')
      files.delete(from)
    },
  }
  return { host: host as unknown as Host, files }
}

const macAddress = 'fa:16:3e:00:00:01'

test('the journal keeps the keys of the first release', () => {
  const units: Unit[] = [
    {
      purpose: 'remove',
      index: 1,
      name: 'multinic1',
      macAddress,
      group: 'remove multinic1',
      ifindex: 4,
      changes: [{ kind: 'name', from: 'multinic1', to: 'mnpark4', park: true }],
    },
    {
      purpose: 'apply',
      index: 0,
      name: 'multinic0',
      macAddress,
      ifindex: 3,
      group: 'multinic0',
      changes: [{ kind: 'manager', from: 'other', to: 'none' }],
    },
  ]
  const onDisk =
    '{"version":1,"bootId":"boot-1","units":[' +
    '{"purpose":"remove","id":1,"name":"multinic1","mac":"fa:16:3e:00:00:01","group":"remove multinic1","ifindex":4,' +
    '"changes":[{"kind":"name","from":"multinic1","to":"mnpark4","park":true}]},' +
    '{"purpose":"apply","id":0,"name":"multinic0","mac":"fa:16:3e:00:00:01","ifindex":3,"group":"multinic0",' +
    '"changes":[{"kind":"manager","from":"other","to":"none"}]}]}'
  const { host, files } = memoryHost()
  writeJournal(host, hostPaths, { bootID: 'boot-1', units })
  assert.deepEqual([...files], [['/var/lib/multinic/journal/0001.json', onDisk]])
  assert.deepEqual(readJournal(host, hostPaths), [{ bootID: 'boot-1', units }])
})

test('a rename with losses of another form is not read', () => {
  const { host } = memoryHost()
  const rename = { kind: 'name', from: 'ens4', to: 'multinic0' } as const
  const losses = [[{ kind: 'link', from: 'up', to: 'down' }], [{ kind: 'link' }], 'link'] as const
  const units = losses.map((lost, index): Unit => {
    const changes = [{ ...rename, losses: lost } as unknown as Change]
    return { purpose: 'apply', index, name: `multinic${index}`, macAddress, group: 'all', changes }
  })
  writeJournal(host, hostPaths, { bootID: 'boot-1', units })
  assert.deepEqual(readJournal(host, hostPaths), [{ bootID: 'boot-1', units: units.slice(0, 1) }])
})

test('tables of nftables and the unit that all NICs share are read back; a table without a family is not', () => {
  const { host } = memoryHost()
  const unit = (changes: object[]): Unit => ({
    ...{ purpose: 'node', index: -1, name: 'node', macAddress: '', group: 'node' },
    changes: changes as Change[],
  })
  const loaded = unit([{ kind: 'nft', family: 6, to: 'table ip6 multinic {\n}\n' }])
  const removed = unit([{ kind: 'nft', family: 4, from: 'table ip multinic {\n}\n' }])
  const units = [loaded, removed, unit([{ kind: 'nft', to: '' }]), unit([{ kind: 'unknown' }])]
  writeJournal(host, hostPaths, { bootID: 'boot-1', units })
  assert.deepEqual(readJournal(host, hostPaths), [{ bootID: 'boot-1', units: [loaded, removed] }])
})

test('a record keeps the keys of the first release', () => {
  const former = { name: 'ens4', mtu: 1500, up: false, sysctls: { 'ipv4.rp_filter': '0' }, managed: true as const }
  const record = { version: 1 as const, id: 0, mac: macAddress, table: 100, portId: 'port-0', addresses: [], former }
  const onDisk = `{
  "version": 1,
  "id": 0,
  "mac": "fa:16:3e:00:00:01",
  "table": 100,
  "portId": "port-0",
  "addresses": [],
  "former": {
    "name": "ens4",
    "mtu": 1500,
    "up": false,
    "sysctls": {
      "ipv4.rp_filter": "0"
    },
    "managed": true
  }
}
`
  assert.equal(recordText(record), onDisk)
  assert.deepEqual(parseRecord(onDisk), record)
  const network = { family: 4 as const, cidr: '10.100.0.0/24' }
  const marked = { name: 'multinic0', slot: 3, sources: [network], networks: [network] }
  assert.deepEqual(parseRecord(recordText({ ...record, marked })), { ...record, marked })
})

test('what the kernel refused keeps the keys of the first release, and is forgotten after a reboot', () => {
  const { host, files } = memoryHost()
  const path = '/var/lib/multinic/refused-altnames.json'
  saveRefusals(host, hostPaths, 'boot-1', { refusedAltnames: ['port-0'] })
  assert.deepEqual([...files], [[path, '{"bootId":"boot-1","altnames":["port-0"]}\n']])
  assert.deepEqual(readRefusals(host, hostPaths, 'boot-1'), { refusedAltnames: ['port-0'] })
  const both = { refusedAltnames: ['port-0'], nftError: 'not supported' }
  saveRefusals(host, hostPaths, 'boot-1', both)
  assert.deepEqual([...files], [[path, '{"bootId":"boot-1","altnames":["port-0"],"nft":"not supported"}\n']])
  assert.deepEqual(readRefusals(host, hostPaths, 'boot-1'), both)
  assert.deepEqual(readRefusals(host, hostPaths, 'boot-2'), { refusedAltnames: [] })
})

const damaged = ['', 'null', '{', '{"bootId":"boot-1"}', '{"bootId":"boot-1","altnames":[],"nft":5}']
for (const text of damaged)
  test(`the record of what the kernel refused may be damaged: ${text}`, () => {
    const { host, files } = memoryHost()
    files.set('/var/lib/multinic/refused-altnames.json', text)
    assert.deepEqual(readRefusals(host, hostPaths, 'boot-1'), { refusedAltnames: [] })
  })
