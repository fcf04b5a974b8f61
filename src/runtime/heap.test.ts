/** The memory of a process with and without pauses, in a process of its own. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { growthPercent } from './heap.ts'

const heap = new URL('heap.ts', import.meta.url)

/** 40 MiB become garbage. Prints whether they are collected within `ms`. */
const program = (work: string, ms: number, before: string) => `
  import { runInNewContext } from 'node:vm'
  const { collectStartup, keepHeapSmall, returnMemoryInPauses } = await import('${heap}')
  keepHeapSmall()
  const mib = () => process.memoryUsage().heapUsed / 2 ** 20
  const fill = mebibytes => Array.from({ length: mebibytes * 2 ** 17 }, (_, n) => n + 0.5)
  const pause = ms => new Promise(done => setTimeout(done, ms))
  let data
  returnMemoryInPauses(100)
  ${before}
  data = fill(40)
  const full = mib()
  data = undefined
  ${work}
  const started = performance.now()
  while (mib() > full - 30 && performance.now() - started < ${ms}) await pause(50)
  console.log(JSON.stringify({ isReturned: mib() <= full - 30 }))
`

function run(work: string, ms: number, before = ''): unknown {
  return evaluate(program(work, ms, before))
}

function evaluate(code: string): unknown {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8' })
  assert.ok(stdout, stderr)
  return JSON.parse(stdout)
}

test('a process at rest returns the memory of its garbage', () => {
  assert.deepEqual(run('', 20_000), { isReturned: true })
})

test('a collection during the work of a sync does not put off the next one', () => {
  const collected = "data = undefined; runInNewContext('gc')(); await pause(300)"
  assert.deepEqual(run('', 5_000, `data = fill(120); await pause(500); ${collected}`), { isReturned: true })
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

test('what loading the program left is collected at once', () => {
  assert.deepEqual(run(`${workFor(15)}; collectStartup()`, 0), { isReturned: true })
})

/** 8 MiB in small pieces pass through the old generation, and 1 MiB is live at a time. Prints how far the heap grows. */
const smallPieces = (start: string) => `
  const { collectInSmallSteps, keepHeapSmall } = await import('${heap}')
  keepHeapSmall()
  const { runInNewContext } = await import('node:vm')
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
  ${start}
  const mib = () => process.memoryUsage().heapUsed / 2 ** 20
  const before = mib()
  const live = []
  let max = before
  for (let n = 0; n < 2_048; n++) {
    live[n % 256] = Array.from({ length: 512 }, (_, n) => n + 0.5)
    if (n % 16 === 0) await new Promise(done => setTimeout(done, 2))
    max = Math.max(max, mib())
  }
  console.log(JSON.stringify({ grownMiB: max - before }))
`

test('in small steps, a heap grows by 4 MiB before it is collected, but one of less than the given size is not', () => {
  const grown = (start: string) => (evaluate(smallPieces(start)) as { grownMiB: number }).grownMiB
  const inSmallSteps = grown('collectInSmallSteps()')
  assert.ok(inSmallSteps < 7, `grew by ${inSmallSteps} MiB`)
  for (const start of ['', 'collectInSmallSteps(100)']) {
    const other = grown(start)
    assert.ok(other > 7, `grew by only ${other} MiB with "${start}"`)
  }
})

test('a large heap grows by more before it is collected, but not by more than half', () => {
  const growth = (mebibytes: number) => growthPercent(mebibytes * 2 ** 20)
  assert.deepEqual([10, 44, 45, 60, 100, 150, 400].map(growth), [20, 20, 50, 50, 30, 20, 20])
})
