/** The memory limit of a container: enforced, and removed with its isolation. */
import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runIsolated } from './isolation.ts'

const within = 60_000
const module = (name: string) => JSON.stringify(join(import.meta.dirname, name))

/** Runs code in an isolation. It exits without removing its group, like a killed process. */
async function runWithLimit(code: string): Promise<string> {
  const chunks: Buffer[] = []
  const program = `
    import { currentIsolation } from ${module('isolation.ts')}
    import { limitMemory } from ${module('memory-limit.ts')}
    import { run } from ${module('process.ts')}
    const limit = await limitMemory('leftover', 64, currentIsolation())
    ${code}
    process.exit()`
  const command = [process.execPath, '--input-type=module-typescript', '--eval', program]
  await runIsolated(command, { within, output: chunk => chunks.push(chunk) })
  return Buffer.concat(chunks).toString().trim()
}

test('the kernel ends a process that needs more', async () => {
  const output = await runWithLimit(`
    const [command, ...args] = limit.command([process.execPath, '-e', 'Buffer.alloc(200 * 1024 * 1024, 1)'])
    const { code } = await run(command, args, { check: false })
    console.log(code, await limit.kills())`)
  assert.equal(output, '1 1')
})

test('the group of a process that did not remove it ends with the isolation', async () => {
  const groups = () => globSync('/sys/fs/cgroup/{,*/}multinic-isolated-*/leftover')
  const output = await runWithLimit(`
    const [command, ...args] = limit.command(['cat', '/proc/self/cgroup'])
    console.log((await run(command, args)).stdout)`)
  assert.match(output, /multinic-isolated-[\d-]+\/leftover$/m)
  assert.deepEqual(groups(), [])
})
