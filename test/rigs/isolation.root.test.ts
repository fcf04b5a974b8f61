import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { removeStaleIsolations, runIsolated } from './isolation.ts'

const within = 30_000

test('an isolation ends with the exit code of its command', async () => {
  assert.deepEqual(await runIsolated(['sh', '-c', 'exit 7'], { within }), { code: 7, timedOut: false })
})

test('processes of an isolation end with it, and its network namespaces are invisible outside', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'isolation-test-'))
  const before = await leftovers()
  const started = `sleep 4711 & ip netns add leftover && ip link show lo | grep -q UP && echo done > ${dir}/done`
  assert.equal((await runIsolated(['sh', '-c', started], { within })).code, 0)
  assert.equal(await readFile(join(dir, 'done'), 'utf8'), 'done\n')
  assert.deepEqual(await leftovers(), before)
  await rm(dir, { recursive: true })
})

test('an isolation that exceeds its time limit ends as a whole', async () => {
  const before = await leftovers()
  const { timedOut } = await runIsolated(['sh', '-c', 'sleep 4712 & sleep 4713'], { within: 300 })
  assert.equal(timedOut, true)
  // The kernel ends the processes of a namespace after its first one.
  await eventually(async () => assert.deepEqual(await leftovers(), before), { within })
})

test('the isolation of a killed starter ends with it, and the next run removes its directory', async () => {
  const before = await leftovers()
  const module = join(import.meta.dirname, 'isolation.ts')
  const code = `import { runIsolated } from '${module}'; await runIsolated(['sh', '-c', 'sleep 4714'], { within: ${within} })`
  const owner = spawn(process.execPath, ['--input-type=module-typescript', '--eval', code], { stdio: 'ignore' })
  await eventually(async () => assert.notDeepEqual((await leftovers()).sleeps, before.sleeps), { within })
  owner.kill('SIGKILL')
  await once(owner, 'close')
  await eventually(async () => assert.deepEqual((await leftovers()).sleeps, before.sleeps), { within })
  await removeStaleIsolations()
  assert.deepEqual(await leftovers(), before)
})

/** What an isolation could leave behind. */
async function leftovers(): Promise<{ sleeps: string[]; namespaces: string[]; dirs: string[] }> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const commands = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return {
    sleeps: commands.filter(command => command.startsWith('sleep\0' + '471')),
    namespaces: (await readdir('/run/netns').catch(() => [])).filter(name => name === 'leftover'),
    dirs: (await readdir(tmpdir())).filter(name => name.startsWith('multinic-isolated-')),
  }
}
