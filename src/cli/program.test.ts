/** The program by both of its names: it exits with the right code and loads no component. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { eventually } from '../../test/support/eventually.ts'
import { type HttpStub, json, serve } from '../../test/support/http-stub.ts'
import { aWrite } from '../../test/support/inventory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
let stub: HttpStub
let records: unknown[] = []

before(async () => {
  stub = await serve(({ path }, response) => {
    if (path.endsWith('/providers')) json(response, 200, { providers: [] })
    else json(response, 200, path.includes('verdicts') ? { verdicts: [] } : records)
  })
})
after(() => stub.close())

interface Ended {
  code: number
  out: string
  error: string
}

function program(name: string, ...words: string[]): Promise<Ended> {
  const env = { ...process.env, MULTINIC_INVENTORY_URL: stub.url, MULTINIC_TOKEN_FILE: '' }
  return new Promise(resolve => {
    execFile(join(root, 'bin', name), words, { env }, (failure, out, error) => {
      resolve({ code: typeof failure?.code === 'number' ? failure.code : failure ? -1 : 0, out, error })
    })
  })
}

const cases: Record<string, [words: string[], code: number, says: RegExp]> = {
  'an answer is 0': [['check'], 0, /^0 interfaces on 0 nodes/],
  'a no is 1': [['why', 'nothing'], 1, /not found: no node, VM, port, IP or MAC matches "nothing"/],
  'experience M13: an unknown command is 2': [['bogus'], 2, /unknown command 'bogus'/],
  'experience Low: the help of an unknown command names the sandbox': [
    ['bogus'],
    2,
    /\n {2}sandbox .*local environment/,
  ],
  'experience Low: --nic-delay names its unit': [['sandbox', 'up', '--help'], 0, /--nic-delay .*\n?.*300ms/],
  'experience M13: an unknown command of the sandbox is 2': [['sandbox', 'bogus'], 2, /unknown command 'bogus'/],
  'experience M13: an invalid value for the sandbox is 2': [['sandbox', 'up', '--nodes', 'x'], 2, /--nodes/],
  'no answer is 2': [['history'], 2, /missing required argument 'node'/],
}
for (const name of ['multinic', 'kubectl-multinic'])
  for (const [ending, [words, code, says]] of Object.entries(cases))
    test(`${name} ${words.join(' ')}: ${ending}`, async () => {
      const ended = await program(name, ...words)
      assert.equal(ended.code, code, ended.error)
      assert.match(ended.out + ended.error, says)
    })

test('--watch prints the result again when it changes', async t => {
  const env = { ...process.env, MULTINIC_INVENTORY_URL: stub.url, MULTINIC_TOKEN_FILE: '' }
  const child = spawn(join(root, 'bin/multinic'), ['check', '--watch'], { env })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    out += text
  })
  await eventually(() => assert.equal(out, '0 interfaces on 0 nodes match the request\n'), { within: 30_000 })
  const { why: _, ...record } = aWrite('w1', { nics: 0 })
  records = [{ ...record, updatedAt: '2026-01-01T10:00:00Z' }]
  await eventually(() => assert.match(out, /\n0 interfaces on 1 node match the request\n$/), { within: 30_000 })
  records = []
  const ended = once(child, 'exit')
  child.kill('SIGINT')
  assert.deepEqual((await ended)[1], 'SIGINT')
})

test('completion includes the sandbox commands', async () => {
  assert.match((await program('multinic', 'completion', 'bash')).out, /"sandbox up"\) _multinic_offer --dir /)
})

test('kubectl multinic is completed by the program that kubectl runs', async () => {
  assert.deepEqual((await program('kubectl_complete-multinic', 'hist')).out, 'history\n:4\n')
  assert.match((await program('kubectl_complete-multinic', 'check', '-o', '')).out, /^wide\njson\nyaml\ncsv\n:4\n$/)
})

test('a command loads neither a component nor the sandbox before it runs', async () => {
  const own = [
    'program',
    'commands',
    'cluster-commands',
    'legacy/migrate-commands',
    'io',
    'render/wrap',
    'completion',
    'terminal',
    'user-command',
  ]
  const loaded = await Promise.all(
    own.map(async name => {
      const path = `src/cli/${name}.ts`
      const text = await readFile(join(root, path), 'utf8')
      const imports = [...text.matchAll(/^import (?!type)[^;]*? from '(.*)'$/gm)].map(([, from = '']) => from)
      return imports.map(from => (from.startsWith('.') ? normalize(join(dirname(path), from)) : from))
    }),
  )
  const light = [
    'commander',
    ...['messages', 'en', 'ko'].map(name => `src/cli/messages/${name}.ts`),
    ...own.map(name => `src/cli/${name}.ts`),
    ...['env', 'errors', 'version'].map(name => `src/runtime/${name}.ts`),
    'node:fs/promises',
    'node:stream/consumers',
  ]
  assert.deepEqual(
    [...new Set(loaded.flat())].filter(from => !light.includes(from)),
    [],
  )
})
