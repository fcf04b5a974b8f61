/** The memory of a process with and without pauses, in a process of its own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

const heap = new URL('heap.ts', import.meta.url)

/** 40 MiB become garbage. Prints whether they are collected within `ms`. */
const program = (work: string, ms: number) => `
  const { keepHeapSmall, returnMemoryInPauses } = await import('${heap}')
  keepHeapSmall()
  const mib = () => process.memoryUsage().heapUsed / 2 ** 20
  let data = Array.from({ length: 5 * 2 ** 20 }, (_, n) => n + 0.5)
  const full = mib()
  data = undefined
  returnMemoryInPauses(100)
  ${work}
  const started = performance.now()
  while (mib() > full - 30 && performance.now() - started < ${ms}) await new Promise(done => setTimeout(done, 50))
  console.log(JSON.stringify({ isReturned: mib() <= full - 30 }))
`

function run(work: string, ms: number): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program(work, ms)], {
    encoding: 'utf8',
  })
  assert.ok(stdout, stderr)
  return JSON.parse(stdout)
}

test('a process at rest returns the memory of its garbage', () => {
  assert.deepEqual(run('', 20_000), { isReturned: true })
})

/** Works for a share of every 20 ms. */
const workFor = (ms: number) =>
  `setInterval(() => { const end = performance.now() + ${ms}; while (performance.now() < end); }, 20).unref()`

test('a process that works now and then returns the memory of its garbage', () => {
  assert.deepEqual(run(workFor(1), 20_000), { isReturned: true })
})

test('a process that works most of the time is not held up by a collection', () => {
  assert.deepEqual(run(workFor(15), 2_000), { isReturned: false })
})
