import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import { inWorld, sweepWorlds } from './world.ts'

const within = 30_000

test('a world ends with the exit code of its command', async () => {
  assert.deepEqual(await inWorld(['sh', '-c', 'exit 7'], { within }), { code: 7, timedOut: false })
})

test('what is started in a world ends with it, and its network was seen by nobody', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'world-test-'))
  const before = await world()
  const started = `sleep 4711 & ip netns add left-behind && ip link show lo | grep -q UP && echo done > ${dir}/done`
  assert.equal((await inWorld(['sh', '-c', started], { within })).code, 0)
  assert.equal(await readFile(join(dir, 'done'), 'utf8'), 'done\n')
  assert.deepEqual(await world(), before)
  await rm(dir, { recursive: true })
})

test('a world that takes too long is ended as a whole', async () => {
  const before = await world()
  const { timedOut } = await inWorld(['sh', '-c', 'sleep 4712 & sleep 4713'], { within: 300 })
  assert.equal(timedOut, true)
  assert.deepEqual(await world(), before)
})

test('the world of a killed owner ends with it, and the next sweep takes its directory', async () => {
  const before = await world()
  const module = join(import.meta.dirname, 'world.ts')
  const code = `import { inWorld } from '${module}'; await inWorld(['sh', '-c', 'sleep 4714'], { within: ${within} })`
  const owner = spawn(process.execPath, ['--input-type=module-typescript', '--eval', code], { stdio: 'ignore' })
  await eventually(async () => assert.notDeepEqual((await world()).sleeps, before.sleeps), { within })
  owner.kill('SIGKILL')
  await once(owner, 'close')
  await eventually(async () => assert.deepEqual((await world()).sleeps, before.sleeps), { within })
  await sweepWorlds()
  assert.deepEqual(await world(), before)
})

/** What a world could leave behind. */
async function world(): Promise<{ sleeps: string[]; namespaces: string[]; dirs: string[] }> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name))
  const commands = await Promise.all(pids.map(pid => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return {
    sleeps: commands.filter(command => command.startsWith('sleep\0' + '471')),
    namespaces: (await readdir('/run/netns').catch(() => [])).filter(name => name === 'left-behind'),
    dirs: (await readdir(tmpdir())).filter(name => name.startsWith('multinic-world-')),
  }
}
