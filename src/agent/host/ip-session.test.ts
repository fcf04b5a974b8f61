/** Queries to an `ip` process that stays open: the real program, and programs that behave differently. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { type IpSession, ipSession } from './ip-session.ts'

const timeout = 5_000

function sessionOf(t: TestContext, [command = '', ...args]: string[], within = timeout) {
  const started: (number | undefined)[] = []
  const session = ipSession(() => {
    const child = spawn(command, args)
    started.push(child.pid)
    return child
  }, within)
  t.after(() => session.close())
  return { session, started }
}

const realIp = ['ip', '-N', '-j', '-force', '-batch', '-']

/** A shell script that reads commands. */
const shell = (script: string) => ['sh', '-c', script]

const ended = (pid = 0) => eventually(() => assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' }))

const listsOf = async (session: IpSession, ...commands: string[]) =>
  (await session.query(commands)).stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { ifname: string }[])

test('one process answers all queries, and errors name the lines of their query', async t => {
  const { session, started } = sessionOf(t, realIp)
  const [links, rules] = await listsOf(session, 'link show dev lo', 'rule list')
  assert.deepEqual(
    links?.map(link => link.ifname),
    ['lo'],
  )
  assert.ok((rules?.length ?? 0) > 0)
  const failed = await session.query(['rule list', 'link show dev nosuch0', 'link show dev lo'])
  assert.equal(failed.stdout.trim().split('\n').length, 2)
  assert.match(failed.stderr, /^.*nosuch0.*\nCommand failed -:2\n$/)
  assert.deepEqual(await listsOf(session, 'link show dev lo'), [links])
  assert.equal((await session.query([])).stdout, '')
  assert.equal(started.length, 1)
})

test('an answer is whole, however long it is', async t => {
  const { session } = sessionOf(t, realIp)
  const lists = await listsOf(session, ...Array.from({ length: 5_000 }, () => 'link show dev lo'))
  assert.equal(lists.length, 5_000)
})

test('what a process prints right before the end of a query belongs to it', async t => {
  const program = `let line = 0
    require('node:readline').createInterface({ input: process.stdin }).on('line', text => {
      line++
      const fs = require('node:fs')
      if (text === 'end-of-query') fs.writeSync(2, 'Object "end-of-query" is unknown\\nCommand failed -:' + line + '\\n')
      else fs.writeSync(1, '["' + text + '"]\\n')
    })`
  const { session } = sessionOf(t, [process.execPath, '-e', program])
  for (let round = 0; round < 200; round++)
    assert.deepEqual(await session.query([`query ${round}`]), { stdout: `["query ${round}"]\n`, stderr: '' })
})

test('a process that ends gives what it printed, and the next query starts another', async t => {
  const { session, started } = sessionOf(t, shell('read line; echo "[1]"; echo "no such device" >&2; exit 2'))
  for (const _ of [1, 2])
    assert.deepEqual(await session.query(['a', 'b']), { stdout: '[1]\n', stderr: 'no such device\n' })
  assert.equal(started.length, 2)
})

test('a process that was killed between two queries is replaced', async t => {
  const { session, started } = sessionOf(t, realIp)
  await session.query(['link show dev lo'])
  process.kill(started[0] ?? 0, 'SIGKILL')
  // The query that finds it dead may get an empty answer.
  await session.query(['link show dev lo'])
  const [links] = await listsOf(session, 'link show dev lo')
  assert.deepEqual(
    links?.map(link => link.ifname),
    ['lo'],
  )
})

test('a process that does not answer is killed, and the query fails', async t => {
  const { session, started } = sessionOf(t, shell('exec sleep 60'), 200)
  await assert.rejects(session.query(['link show']), { message: 'ip: no answer within 0.2 seconds' })
  await ended(started[0])
  await assert.rejects(session.query(['link show']))
  assert.equal(started.length, 2)
})

test('without the program, the query fails', async t => {
  const { session } = sessionOf(t, ['no-such-program'])
  await assert.rejects(session.query(['link show']), /^Error: ip: spawn no-such-program ENOENT$/)
})

test('the process ends with the session', async t => {
  const { session, started } = sessionOf(t, realIp)
  await session.query(['link show dev lo'])
  session.close()
  await ended(started[0])
})
