/** The judge finds a planted change of the operator and of the agent, and none where there is none. */
import assert from 'node:assert/strict'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { accepted } from './accepted.ts'
import { compare } from './compare.ts'
import { judge, type Part } from './judge.ts'
import type { Sent } from './recorder.ts'

const root = join(import.meta.dirname, '../..')

/** This tree, with a text of one folder of src replaced. */
function changedTree(folder: string, from: string, to: string): Disposable & { dir: string } {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-judged-change-'))
  cpSync(join(root, 'src'), join(dir, 'src'), { recursive: true })
  for (const name of ['node_modules', 'package.json']) symlinkSync(join(root, name), join(dir, name))
  const found = globSync(`src/${folder}/**/*.ts`, { cwd: dir })
    .map(path => join(dir, path))
    .filter(path => !path.endsWith('.test.ts') && readFileSync(path, 'utf8').includes(from))
  assert.notEqual(found.length, 0, `${from} is not in src/${folder}`)
  for (const path of found) writeFileSync(path, readFileSync(path, 'utf8').replaceAll(from, to))
  return { dir, [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }) }
}

async function play(part: Part, is: string, operations: number) {
  const lines: string[] = []
  const print = (text: string) => void lines.push(text)
  const found = await judge({ was: root, is, parts: [part], seeds: [2], operations, accepted: [], print })
  return { found, text: lines.join('\n') }
}

const planted: Record<Part, { folder: string; from: string; to: string; operations: number; shown: RegExp }> = {
  operator: {
    ...{ folder: 'operator', from: ' becomes ', to: ' turns into ', operations: 1 },
    shown: /operation 0 \(start\)\n {2}inventory record of biz-1 worker-\d\n.*why: ".*becomes.*" → ".*turns into/,
  },
  agent: {
    ...{ folder: 'agent', from: 'RequiredForOnline=no', to: 'RequiredForOnline=yes', operations: 5 },
    shown: /operation \d+ \(.*\)\n {2}agent host\n.*RequiredForOnline=no.* → .*RequiredForOnline=yes/,
  },
}

for (const [part, { folder, from, to, operations, shown }] of Object.entries(planted)) {
  test(`a changed text of the ${part} is found`, async () => {
    using tree = changedTree(folder, from, to)
    const { found, text } = await play(part as Part, tree.dir, operations)
    assert.notEqual(found.length, 0)
    assert.match(text, shown)
  })

  test(`the ${part} does not differ from itself`, async () => {
    const { found, text } = await play(part as Part, root, operations + 2)
    assert.deepEqual(found, [], text)
  })
}

const write = (path: string, value: number, more: Partial<Sent> = {}): Sent => {
  return { service: 'kubernetes', method: 'PATCH', path, body: JSON.stringify({ value }), status: 200, ...more }
}
const read: Sent = { service: 'nova', method: 'GET', path: '/servers', body: '', status: 200 }
const inventory = (...values: number[]): Sent => {
  const records = values.map(value => ({ providerId: 'p', nodeName: `w${value}`, value }))
  return write('/records', 0, { service: 'inventory', method: 'PUT', body: JSON.stringify({ records }) })
}
const cases: Record<string, [was: Sent[], is: Sent[], differences: number]> = {
  'the order of writes to one object counts': [[write('/a', 1), write('/a', 2)], [write('/a', 2), write('/a', 1)], 2],
  'the order of writes to different objects does not': [
    [write('/a', 1), write('/b', 2)],
    [write('/b', 2), write('/a', 1)],
    0,
  ],
  'a write in between does not move the others': [
    [write('/a', 1), write('/a', 2), write('/a', 3)],
    [write('/a', 1), write('/a', 4), write('/a', 2), write('/a', 5)],
    2,
  ],
  'a write that is repeated counts': [[write('/a', 1)], [write('/a', 1), write('/a', 1)], 1],
  'a read that is repeated does not': [[read], [read, read], 0],
  'a read that is missing counts': [[read], [], 1],
  'a write that fails counts': [[write('/a', 1)], [write('/a', 1, { status: 409 })], 1],
  'records in another number of requests do not count': [[inventory(1, 2)], [inventory(2), inventory(1)], 0],
  'a record that is missing counts': [[inventory(1, 2)], [inventory(1)], 1],
}
for (const [name, [was, is, differences]] of Object.entries(cases))
  test(name, () => {
    assert.equal(compare([{ operation: '', sent: was }], [{ operation: '', sent: is }]).length, differences)
  })

test('a renamed text and a known difference are accepted', () => {
  const was = [{ operation: '', sent: [write('/a', 1), write('/b', 1)] }]
  const is = [{ operation: '', sent: [write('/a', 2), write('/b', 3)] }]
  const found = compare(was, is, [
    { because: 'renamed', renamed: ['"value":1', '"value":2'] },
    { because: 'known', difference: /^kubernetes \/b\n {2}value: 1 → 3$/ },
  ])
  assert.deepEqual(
    found.map(difference => difference.accepted?.because),
    ['renamed', 'known'],
  )
})

test('every accepted difference has a reason, and says what it is', () => {
  for (const { because, renamed, difference } of accepted) {
    assert.ok(because.length >= 20, `"${because}" explains too little`)
    assert.ok((renamed === undefined) !== (difference === undefined), `${because}: renamed or difference is required`)
    assert.ok(!difference?.test(''), `${because}: matches everything`)
  }
})
