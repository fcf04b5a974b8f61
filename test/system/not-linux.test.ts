/** The sandbox where there are no namespaces and no tools of Linux, and the tour there, with somebody at the terminal. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkout } from '../../sandbox/checkout.ts'
import type { SandboxStatus } from '../../sandbox/control/status.ts'
import { processesOf, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { findScenario } from '../../sandbox/scenarios/find.ts'
import { environment } from '../../src/runtime/env.ts'
import { eventually } from '../support/eventually.ts'
import { typing } from './run-command.ts'

const parent = await mkdtemp(join(tmpdir(), 'multinic-elsewhere-'))
const state = stateDir(join(parent, 'sandbox'))
const elsewhere = {
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'not-linux.ts')}`,
  // What builds the parts would look for a program of that other system.
  ESBUILD_BINARY_PATH: join(checkout, 'node_modules/@esbuild', `${process.platform}-${process.arch}`, 'bin/esbuild'),
}
const sandbox = typing(state.dir, elsewhere)
const told = process.platform === 'linux' && spawnSync('ps', ['-p', '1'], { stdio: 'ignore' }).error === undefined
const patient = { timeout: 240_000, skip: told ? false : 'this needs the processes of Linux, and ps' }

after(async () => {
  await sandbox('down')
  await rm(parent, { recursive: true })
})

async function status(): Promise<SandboxStatus> {
  const { code, out } = await sandbox('status', '-o', 'json')
  assert.equal(code, 0, out)
  return JSON.parse(out) as SandboxStatus
}

/** Somebody at a terminal who types the tour: what they read so far, what they press, and how it ends. */
function atTerminal() {
  const program = join(import.meta.dirname, '../../bin/multinic')
  const env = { ...environment(), ...elsewhere, MULTINIC_SANDBOX_DIR: state.dir }
  const child = spawn('script', ['-q', '-e', '-f', '-c', `${program} sandbox tour`, '/dev/null'], { env })
  let read = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    read += text
  })
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  const left = ended.then(() => assert.fail(read))
  left.catch(() => {})
  return {
    read: () => read,
    reads: (text: string) =>
      Promise.race([left, eventually(() => assert.ok(read.includes(text), read), { within: 120_000, every: 50 })]),
    press: (key: string) => child.stdin.write(key),
    ended,
    leave: () => child.kill('SIGKILL'),
  }
}

const lent = spawnSync('script', ['-q', '-e', '-c', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0
const seated = { ...patient, skip: patient.skip || (lent ? false : 'this system lends no terminal') }
const ctrlC = '\x03'
const { steps } = await findScenario('tour')
const pauses = steps.flatMap((step, index) => {
  const next = steps.slice(index).find(({ kind }) => kind === 'say')
  return step.kind === 'pause' && next?.kind === 'say'
    ? [{ prompt: step.value ?? '', next: firstLine(next.value) }]
    : []
})

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

test('who leaves the tour by Ctrl-C keeps its sandbox, with nodes in memory, and says so', seated, async () => {
  const person = atTerminal()
  try {
    const [first] = pauses
    await person.reads(first?.prompt ?? 'a pause')
    assert.match(person.read(), /nodes are simulated in memory: namespaces require Linux/)
    person.press(ctrlC)
    assert.notEqual(await person.ended, 0)
  } finally {
    person.leave()
  }
  const { host, nodes, ready } = await status()
  assert.deepEqual([host, ready, ...nodes.map(({ interfaces }) => interfaces.length)], ['simulated', true, 2, 1, 1])
})

test('there it is commanded as anywhere', patient, async () => {
  const { code, out } = await sandbox('up')
  assert.equal(code, 0, out)
  assert.match(out, lent ? /a sandbox is already running/ : /nodes are simulated in memory/)
  const attached = await sandbox('attach', '--vm', 'worker-2', '--subnet', 'backup')
  assert.match(attached.out, /^attached port \S+ {2}fa:16:3e:/)
  await eventually(
    async () => {
      const { nodes, ready } = await status()
      assert.deepEqual([ready, nodes[1]?.interfaces.map(nic => nic.status)], [true, ['Configured', 'Configured']])
    },
    { within: 60_000, every: 100 },
  )
  assert.equal((await sandbox('reboot', 'worker-2')).out, 'worker-2 rebooted\n')
})

test('down after kill -9 leaves nothing behind there either', patient, async () => {
  const owner = Number(JSON.parse(readFileSync(state.path('owner.json'), 'utf8')).pid)
  process.kill(owner, 'SIGKILL')
  // We look at them as Linux tells of them, which they themselves are not told.
  await eventually(async () => assert.ok(!(await processesOf(state)).includes(owner)))
  assert.ok((await processesOf(state)).length >= 3, 'the parts still run')
  assert.match((await sandbox('down')).out, /sandbox removed/)
  await eventually(async () => assert.deepEqual(await processesOf(state), []))
  assert.equal(existsSync(state.dir), false)
})

test('the tour goes on by Enter, step by step, and takes its sandbox down', seated, async () => {
  const person = atTerminal()
  try {
    for (const { prompt, next } of pauses) {
      await person.reads(prompt)
      assert.ok(!person.read().includes(next), `nobody pressed Enter before: ${next}`)
      person.press('\r')
      await person.reads(next)
    }
    await person.reads('Press Enter to remove the sandbox')
    assert.match(person.read(), /worker-2 is simulated and cannot run "ip -brief address"; its NICs:/)
    person.press('\r')
    assert.equal(await person.ended, 0, person.read())
  } finally {
    person.leave()
  }
  assert.match(person.read(), /sandbox removed: processes, namespaces, files/)
  assert.deepEqual([existsSync(state.dir), await processesOf(state)], [false, []])
})
