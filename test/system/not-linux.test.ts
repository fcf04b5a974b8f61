/** The sandbox on a system without Linux namespaces and tools, and its tour in a terminal. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { checkout } from '../../sandbox/checkout.ts'
import { tourSteps } from '../../sandbox/commands/tour-steps.ts'
import type { SandboxStatus } from '../../sandbox/control/status.ts'
import { processesOf, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { environment } from '../../src/runtime/env.ts'
import { eventually } from '../support/eventually.ts'
import { commandRunner, inOneLine } from './run-command.ts'

const parent = await mkdtemp(join(tmpdir(), 'multinic-elsewhere-'))
const state = stateDir(join(parent, 'sandbox'))
const notLinux = {
  NODE_OPTIONS: `--import=${join(import.meta.dirname, 'not-linux.ts')}`,
  // esbuild would look for a binary of the other system.
  ESBUILD_BINARY_PATH: join(checkout, 'node_modules/@esbuild', `${process.platform}-${process.arch}`, 'bin/esbuild'),
}
const sandbox = commandRunner(state.dir, notLinux)
const hasPs = process.platform === 'linux' && spawnSync('ps', ['-p', '1'], { stdio: 'ignore' }).error === undefined
const patient = { timeout: 240_000, skip: hasPs ? false : 'needs Linux and ps' }

after(async () => {
  await sandbox('down')
  await rm(parent, { recursive: true })
})

async function status(): Promise<SandboxStatus> {
  const { code, out } = await sandbox('status', '-o', 'json')
  assert.equal(code, 0, out)
  return JSON.parse(out) as SandboxStatus
}

/** The tour in a terminal: its output so far, key presses, and its exit code. */
function startTour() {
  const program = join(import.meta.dirname, '../../bin/multinic')
  const env = { ...environment(), ...notLinux, MULTINIC_SANDBOX_DIR: state.dir }
  const child = spawn('script', ['-q', '-e', '-f', '-c', `${program} sandbox tour`, '/dev/null'], { env })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  const ended = new Promise<number | null>(resolve => child.once('close', code => resolve(code)))
  const endedEarly = ended.then(() => assert.fail(output))
  endedEarly.catch(() => {})
  return {
    output: () => output,
    waitFor: (text: string) =>
      Promise.race([
        endedEarly,
        eventually(() => assert.ok(inOneLine(output).includes(inOneLine(text)), output), {
          within: 120_000,
          every: 50,
        }),
      ]),
    press: (key: string) => child.stdin.write(key),
    ended,
    kill: () => child.kill('SIGKILL'),
  }
}

const hasTerminal = spawnSync('script', ['-q', '-e', '-c', 'true', '/dev/null'], { stdio: 'ignore' }).status === 0
const inTerminal = { ...patient, skip: patient.skip || (hasTerminal ? false : 'script cannot open a terminal') }
const ctrlC = '\x03'
const pauses = tourSteps.flatMap((step, index) => {
  const next = tourSteps.slice(index).find(each => 'say' in each)
  return 'pause' in step && next ? [{ prompt: step.pause, next: next.say }] : []
})

test('Ctrl-C in the tour keeps the sandbox with simulated nodes and reports it', inTerminal, async () => {
  const tour = startTour()
  try {
    const [first] = pauses
    await tour.waitFor(first?.prompt ?? 'a pause')
    assert.match(tour.output(), /nodes are simulated in memory: namespaces require Linux/)
    tour.press(ctrlC)
    assert.notEqual(await tour.ended, 0)
  } finally {
    tour.kill()
  }
  const { host, nodes, ready } = await status()
  assert.deepEqual([host, ready, ...nodes.map(({ interfaces }) => interfaces.length)], ['simulated', true, 2, 1, 1])
})

test('the commands work without Linux', patient, async () => {
  const { code, out } = await sandbox('up')
  assert.equal(code, 0, out)
  assert.match(out, hasTerminal ? /a sandbox is already running/ : /nodes are simulated in memory/)
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

test('down after kill -9 removes everything, also without Linux', patient, async () => {
  const owner = Number(JSON.parse(readFileSync(state.path('owner.json'), 'utf8')).pid)
  process.kill(owner, 'SIGKILL')
  // This process reads /proc, which the sandbox cannot.
  await eventually(async () => assert.ok(!(await processesOf(state)).includes(owner)))
  assert.ok((await processesOf(state)).length >= 3, 'the components still run')
  assert.match((await sandbox('down')).out, /sandbox removed/)
  await eventually(async () => assert.deepEqual(await processesOf(state), []))
  assert.equal(existsSync(state.dir), false)
})

test('the tour continues with Enter, step by step, and removes its sandbox', inTerminal, async () => {
  const tour = startTour()
  try {
    for (const { prompt, next } of pauses) {
      await tour.waitFor(prompt)
      assert.ok(!inOneLine(tour.output()).includes(inOneLine(next)), `continued without Enter: ${next}`)
      tour.press('\r')
      await tour.waitFor(next)
    }
    await tour.waitFor('Press Enter to remove the sandbox')
    assert.match(tour.output(), /worker-2 is simulated and cannot run "ip -brief address"; its NICs:/)
    tour.press('\r')
    assert.equal(await tour.ended, 0, tour.output())
  } finally {
    tour.kill()
  }
  assert.match(tour.output(), /sandbox removed: processes, namespaces, files/)
  assert.deepEqual([existsSync(state.dir), await processesOf(state)], [false, []])
})
