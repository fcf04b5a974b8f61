/**
 * The formats on disk: what a node keeps, agents of other versions read.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { type Host, kernelHost } from '../host/host.ts'
import { readRefusals, saveRefusals } from '../observe/refusals-of-boot.ts'
import { hostPaths, pathsUnder } from '../paths.ts'
import type { Change } from '../state/change.ts'
import { readRecord, recordText } from '../state/records.ts'
import type { Unit } from '../state/unit.ts'
import { endJournal, readJournal, writeJournal } from './journal.ts'

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
      for (const [path, text] of [...files]) {
        if (path !== from && !path.startsWith(`${from}/`)) continue
        files.set(`${to}${path.slice(from.length)}`, text)
        files.delete(path)
      }
    },
    removeFile: (path: string) => void files.delete(path),
    removeDirectory: () => {},
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
  assert.deepEqual(readJournal(host, hostPaths), {
    entries: [{ bootID: 'boot-1', units }],
    unread: [],
    rests: new Map(),
  })
})

const path = '/var/lib/multinic/journal/0001.json'
const kept = '/var/lib/multinic/journal-unread/0001.json'
const mtu = { kind: 'mtu', from: 1500, to: 1400 } as const
const aUnit = (changes: object[], values: Partial<Unit> = {}): Unit => ({
  ...{ purpose: 'apply', index: 0, name: 'multinic0', macAddress, group: 'multinic0', ...values },
  changes: changes as Change[],
})
const changesIn = ({ entries }: ReturnType<typeof readJournal>) =>
  entries.flatMap(({ units }) => units.flatMap(({ changes }) => changes))

const rule = { family: 4, priority: 10_050, table: 100, protocol: 4 }
const unknownChanges: Record<string, [change: object, problem: string]> = {
  'an unknown kind': [{ kind: 'dns', from: 1, to: 2 }, 'the unknown change dns'],
  'a kind that every object has': [{ kind: 'constructor' }, 'the unknown change constructor'],
  'an unknown key': [{ ...mtu, qdisc: 'fq' }, 'the unknown key mtu.qdisc'],
  'an unknown key of a rule': [
    { kind: 'rule', op: 'add', rule: { ...rule, ipproto: 6 } },
    'the unknown key rule.rule.ipproto',
  ],
  'an unknown key of a file': [
    { kind: 'file', path: '/etc/x', to: { text: '', mode: 1, uid: 0, gid: 0, acl: '' } },
    'the unknown key file.to.acl',
  ],
  'a missing key': [{ kind: 'mtu', from: 1500 }, 'a mtu of another form'],
  'a rule without a table': [
    { kind: 'rule', op: 'add', rule: { ...rule, table: null } },
    'a rule.rule of another form',
  ],
  'losses of another form': [
    { kind: 'name', from: 'a', to: 'b', losses: [{ kind: 'link' }] },
    'a link of another form',
  ],
  'losses that are no list': [{ kind: 'name', from: 'a', to: 'b', losses: 'link' }, 'a name of another form'],
  'an unknown operation': [{ kind: 'rule', op: 'replace', rule: { ...rule, table: 100 } }, 'a rule of another form'],
  'an unknown manager': [{ kind: 'manager', from: 'connman', to: 'none' }, 'a manager of another form'],
  'a value of another type': [{ kind: 'mtu', from: '1500', to: 1400 }, 'a mtu of another form'],
  'a file whose text is no text': [
    { kind: 'file', path: '/etc/x', from: { text: 5, mode: 1, uid: 0, gid: 0 } },
    'a file.from of another form',
  ],
}
for (const [what, [change, problem]] of Object.entries(unknownChanges))
  test(`${what} beside a known change: the known one is read, and the other one stays until an agent can read it`, () => {
    const { host, files } = memoryHost()
    const other = aUnit([mtu], { index: 1, name: 'multinic1', macAddress: 'fa:16:3e:00:00:02', group: 'multinic1' })
    writeJournal(host, hostPaths, { bootID: 'boot-1', units: [aUnit([mtu, change]), other] })
    const journal = readJournal(host, hostPaths)
    assert.deepEqual(changesIn(journal), [mtu, mtu])
    assert.deepEqual(journal.unread, [{ macAddress, message: `${path} has ${problem} of multinic0` }])

    endJournal(host, hostPaths, journal)
    assert.deepEqual([...files.keys()], [kept])
    for (let run = 0; run < 2; run++) {
      writeJournal(host, hostPaths, { bootID: 'boot-1', units: [other] })
      const again = readJournal(host, hostPaths)
      assert.deepEqual(changesIn(again), [mtu], 'what was rolled back is not rolled back again')
      assert.deepEqual(again.unread, [{ macAddress, message: `${kept} has ${problem} of multinic0` }])
      endJournal(host, hostPaths, again)
      assert.deepEqual([...files.keys()], [kept])
    }
    const { units } = JSON.parse(files.get(kept) ?? '')
    assert.deepEqual(units[0].changes, [change])
  })

test('what another agent could not read is rolled back by the one that can, and is gone then', () => {
  const { host, files } = memoryHost()
  writeJournal(host, hostPaths, { bootID: 'boot-1', units: [aUnit([mtu])] })
  files.set(kept, files.get(path) ?? '')
  files.delete(path)
  const journal = readJournal(host, hostPaths)
  assert.deepEqual([changesIn(journal), journal.unread], [[mtu], []])
  endJournal(host, hostPaths, journal)
  assert.deepEqual([...files.keys()], [])
})

test('a run that is killed after it moved what it cannot read keeps it once', () => {
  const { host, files } = memoryHost()
  writeJournal(host, hostPaths, { bootID: 'boot-1', units: [aUnit([{ kind: 'dns' }])] })
  const text = files.get(path) ?? ''
  endJournal(host, hostPaths, readJournal(host, hostPaths))
  files.set(path, text)
  endJournal(host, hostPaths, readJournal(host, hostPaths))
  assert.deepEqual([...files.keys()], [kept])
})

const header = '"version":1,"bootId":"boot-1"'
const onDisk = (values: object) =>
  JSON.stringify({ purpose: 'apply', id: 0, name: 'multinic0', mac: macAddress, group: 'g', changes: [mtu], ...values })
const unreadable: Record<string, [text: string, unread: object[]]> = {
  'not JSON': ['{', []],
  'no object': ['[]', [{ message: 'is no journal' }]],
  'of another version': ['{"version":2}', [{ message: 'has version 2 or another form' }]],
  'with an unknown key': [`{${header},"units":[],"era":2}`, [{ message: 'has the unknown key era' }]],
  'with a unit of another form': [`{${header},"units":[5]}`, [{ message: 'has a unit of another form' }]],
  'with a unit that has an unknown key': [
    `{${header},"units":[${onDisk({ zone: 1 })}]}`,
    [{ macAddress, message: 'has the unknown key zone of multinic0' }],
  ],
  'with a unit of an unknown purpose': [
    `{${header},"units":[${onDisk({ purpose: 'measure' })}]}`,
    [{ macAddress, message: 'has a unit of another form of multinic0' }],
  ],
  'with a unit of no NIC': [
    `{${header},"units":[${onDisk({ mac: 5 })}]}`,
    [{ message: 'has a unit of another form of multinic0' }],
  ],
  'with an unknown change of what all NICs share': [
    `{${header},"units":[${onDisk({ purpose: 'node', name: 'node', changes: [{ kind: 'dns' }] })}]}`,
    [{ message: 'has the unknown change dns of node' }],
  ],
}
for (const [what, [text, unread]] of Object.entries(unreadable))
  test(`a journal ${what} is not rolled back and stays`, () => {
    const { host, files } = memoryHost()
    files.set(path, text)
    const journal = readJournal(host, hostPaths)
    const named = journal.unread.map(entry => ({ ...entry, message: entry.message.replace(`${path} `, '') }))
    assert.deepEqual([changesIn(journal), named], [[], unread])
    endJournal(host, hostPaths, journal)
    assert.deepEqual([...files.keys()], [kept])
    assert.deepEqual(files.get(kept), text)
  })

const notRead = [{ message: 'cannot be read' }]
const inItsPlace: Record<string, [make: (path: string) => void, unread: object[]]> = {
  'a directory': [path => mkdirSync(path), []],
  'bytes that are no text': [path => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x00, 0xfe])), []],
  'a file that is too long': [path => writeFileSync(path, ' '.repeat(65 << 20)), notRead],
}
for (const [what, [make, unread]] of Object.entries(inItsPlace))
  test(`${what} in place of a journal is moved as it is, and ends no run`, t => {
    const root = mkdtempSync(`${tmpdir()}/multinic-test-journal-`)
    t.after(() => rmSync(root, { recursive: true }))
    const [host, paths] = [kernelHost(), pathsUnder(root)]
    const [from, to] = [`${paths.state}/journal/0001.json`, `${paths.state}/journal-unread/0001.json`]
    mkdirSync(`${paths.state}/journal`, { recursive: true })
    make(from)
    const head = (path: string) => (what === 'a directory' ? '' : readFileSync(path).subarray(0, 8).toString('hex'))
    const before = head(from)
    for (const place of [from, to, to]) {
      const journal = readJournal(host, paths)
      const named = journal.unread.map(({ message }) => ({ message: message.replace(`${place} `, '') }))
      assert.deepEqual([journal.entries, named], [[], unread])
      endJournal(host, paths, journal)
      assert.deepEqual(host.list(`${paths.state}/journal-unread`), ['0001.json'])
      assert.equal(head(to), before)
    }
  })

test('a file with a high number is neither overwritten nor overlooked', () => {
  const { host, files } = memoryHost()
  for (const [name, version] of [
    ['9999', 2],
    ['10000', 3],
  ] as const)
    files.set(`/var/lib/multinic/journal-unread/${name}.json`, `{"version":${version}}`)
  files.set(path, '{"version":4}')
  endJournal(host, hostPaths, readJournal(host, hostPaths))
  const versions = readJournal(host, hostPaths).unread.map(({ message }) => message.replace(/.*unread\//, ''))
  const problem = (version: number) => `has version ${version} or another form`
  assert.deepEqual(versions, [`9999.json ${problem(2)}`, `10000.json ${problem(3)}`, `10001.json ${problem(4)}`])
})

test('two files with the same rest lose what was rolled back, each of them', () => {
  const { host, files } = memoryHost()
  for (const changes of [[{ kind: 'dns' }], [mtu, { kind: 'dns' }]]) {
    writeJournal(host, hostPaths, { bootID: 'boot-1', units: [aUnit(changes)] })
    files.set(`/var/lib/multinic/journal-unread/000${changes.length}.json`, files.get(path) ?? '')
    files.delete(path)
  }
  endJournal(host, hostPaths, readJournal(host, hostPaths))
  assert.deepEqual(changesIn(readJournal(host, hostPaths)), [])
})

test('tables of nftables and the unit that all NICs share are read back', () => {
  const { host } = memoryHost()
  const node = { purpose: 'node', index: -1, name: 'node', macAddress: '', group: 'node' } as const
  const units = [
    aUnit([{ kind: 'nft', family: 6, to: 'table ip6 multinic {\n}\n' }], node),
    aUnit([{ kind: 'nft', family: 4, from: 'table ip multinic {\n}\n' }], node),
  ]
  writeJournal(host, hostPaths, { bootID: 'boot-1', units })
  assert.deepEqual(readJournal(host, hostPaths).entries, [{ bootID: 'boot-1', units }])
})

test('a record keeps the keys of the first release', () => {
  const former = { name: 'ens4', mtu: 1500, up: false, sysctls: { 'ipv4.rp_filter': '0' }, managed: true as const }
  const network = { family: 4 as const, cidr: '10.100.0.0/24' }
  const record = {
    ...{ version: 1 as const, id: 0, mac: macAddress, table: 100, portId: 'port-0', addresses: ['10.100.0.10/24'] },
    ...{ rules: ['from 10.100.0.10/32 lookup 100 priority 10050'], mainRoutes: ['10.100.0.0/24 table 254 protocol 4'] },
    marked: { name: 'multinic0', slot: 3, sources: [network], networks: [network] },
    former,
  }
  const onDisk =
    '{"version":1,"id":0,"mac":"fa:16:3e:00:00:01","table":100,"portId":"port-0","addresses":["10.100.0.10/24"],' +
    '"rules":["from 10.100.0.10/32 lookup 100 priority 10050"],"mainRoutes":["10.100.0.0/24 table 254 protocol 4"],' +
    '"marked":{"name":"multinic0","slot":3,"sources":[{"family":4,"cidr":"10.100.0.0/24"}],' +
    '"networks":[{"family":4,"cidr":"10.100.0.0/24"}]},' +
    '"former":{"name":"ens4","mtu":1500,"up":false,"sysctls":{"ipv4.rp_filter":"0"},"managed":true}}'
  assert.equal(recordText(record), `${JSON.stringify(JSON.parse(onDisk), undefined, 2)}\n`)
  assert.deepEqual(readRecord(onDisk), { record })
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
