import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { silent } from '../../telemetry/log.ts'
import { hostPaths } from '../paths.ts'
import { type Host, kernelHost } from './host.ts'
import { takeLock, tryLock } from './lock.ts'

const directories: string[] = []
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true })
})

/** A node with its own state directory. */
function aNode(): { host: Host; paths: typeof hostPaths; directory: string } {
  const state = mkdtempSync(join(tmpdir(), 'lock-'))
  directories.push(state)
  const paths = { ...hostPaths, state }
  return { host: kernelHost(), paths, directory: join(state, 'lock') }
}

test('one agent holds the lock', async () => {
  const { host, paths, directory } = aNode()
  const release = await takeLock(host, paths, silent, { requested: false })
  assert.ok(release)
  assert.equal(await tryLock(host, paths), undefined)
  release()
  assert.deepEqual(readdirSync(directory), [])
  assert.ok(await tryLock(host, paths))
})

test('of many that try at once, at most one holds the lock', async () => {
  const { host, paths } = aNode()
  for (let round = 0; round < 20; round++) {
    const locked = (await Promise.all(Array.from({ length: 8 }, () => tryLock(host, paths)))).filter(Boolean)
    assert.ok(locked.length <= 1, `${locked.length} hold it`)
    for (const release of locked) release?.()
  }
})

test('an agent that was killed does not hold the lock', async () => {
  const { host, paths, directory } = aNode()
  await (await tryLock(host, paths))?.()
  const program = `require('net').createServer().listen('${directory}/killed', () => console.log('listening'))`
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  // The socket is in the directory before it has a listener.
  await once(child.stdout, 'data')
  assert.equal(await tryLock(host, paths), undefined)
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  assert.ok(await tryLock(host, paths))
  assert.ok(!readdirSync(directory).includes('killed'))
})

test('an agent whose socket another one removed before it had a listener does not hold the lock', async () => {
  const { host, paths, directory } = aNode()
  const listen = async (path: string) => {
    const release = await host.listen(path)
    host.removeFile(path)
    return release
  }
  assert.equal(await tryLock({ ...host, listen }, paths), undefined)
  assert.deepEqual(readdirSync(directory), [])
  assert.ok(await tryLock(host, paths))
})

test('an agent waits for another one at most 20 s, and not at all once it has to stop', async () => {
  const { host, paths, directory } = aNode()
  const release = await tryLock(host, paths)
  let now = 0
  const sleep = async (ms: number) => {
    now += ms
  }
  const clocked = { ...host, monotonic: () => now, sleep }
  assert.equal(await takeLock(clocked, paths, silent, { requested: true }), undefined)
  assert.equal(now, 0)
  assert.equal(await takeLock(clocked, paths, silent, { requested: false }), undefined)
  assert.equal(now, 20_000)
  assert.equal(readdirSync(directory).length, 1)
  release?.()
})
