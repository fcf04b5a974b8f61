import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import { type Host, kernelHost } from './host.ts'
import { tryLock } from './lock.ts'
import { hostPaths } from './paths.ts'

const directories: string[] = []
after(() => {
  for (const directory of directories) rmSync(directory, { recursive: true })
})

/** A node with its own state directory and its own name for the lock of older agents. */
function aNode(): { host: Host; paths: typeof hostPaths; directory: string } {
  const state = mkdtempSync(join(tmpdir(), 'lock-'))
  directories.push(state)
  writeFileSync(join(state, 'boot'), 'boot-1')
  const paths = { ...hostPaths, state, bootID: join(state, 'boot') }
  return { host: kernelHost({ lockName: `multinic-test-${state}` }), paths, directory: join(state, 'lock') }
}

test('one agent holds the lock, and older agents are kept away too', async () => {
  const { host, paths, directory } = aNode()
  const release = await tryLock(host, paths)
  assert.ok(release)
  assert.equal(await tryLock(host, paths), undefined)
  assert.equal(await host.lock(), undefined)
  release()
  assert.deepEqual(readdirSync(directory), [])
  assert.ok(await tryLock(host, paths))
})

test('of many that try at once, at most one holds the lock', async () => {
  const { host, paths } = aNode()
  // Without the older lock, which would decide alone.
  const alone = { ...host, lock: async () => () => {} }
  for (let round = 0; round < 20; round++) {
    const locked = (await Promise.all(Array.from({ length: 8 }, () => tryLock(alone, paths)))).filter(Boolean)
    assert.ok(locked.length <= 1, `${locked.length} hold it`)
    for (const release of locked) release?.()
  }
})

test('an agent that was killed does not hold the lock', async () => {
  const { host, paths, directory } = aNode()
  await (await tryLock(host, paths))?.()
  const program = `require('net').createServer().listen('${directory}/killed')`
  const child = spawn(process.execPath, ['-e', program], { stdio: 'ignore' })
  await eventually(() => assert.deepEqual(readdirSync(directory), ['killed']))
  await eventually(async () => assert.equal(await tryLock(host, paths), undefined))
  const gone = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
  assert.ok(await tryLock(host, paths))
  assert.ok(!readdirSync(directory).includes('killed'))
})

test('a process that takes the lock of older agents keeps the agent away for as long as a Job may run, once per boot', async () => {
  const { host, paths } = aNode()
  const releaseOlder = await host.lock()
  assert.ok(releaseOlder)
  let uptime = 1_000
  const clocked: Host = { ...host, readValue: path => (path === '/proc/uptime' ? `${uptime} 1` : host.readValue(path)) }
  const tryOnce = async () => {
    const release = await tryLock(clocked, paths)
    release?.()
    return release !== undefined
  }
  assert.equal(await tryOnce(), false)
  uptime += 600
  assert.equal(await tryOnce(), false)
  uptime += 1
  assert.equal(await tryOnce(), true)
  writeFileSync(paths.bootID, 'boot-2')
  assert.equal(await tryOnce(), false)
  releaseOlder()
  assert.equal(await tryOnce(), true)
})
