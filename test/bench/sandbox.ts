/**
 * The sandbox with three nodes: start time with existing bundles, and memory of all its processes. A page that several
 * processes share counts once (PSS).
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { processesOf, stateDir } from '../../sandbox/lifecycle/state-dir.ts'
import { type Bench, figure, median, timed } from './figure.ts'

const program = join(import.meta.dirname, '../../bin/multinic')

export const bench: Bench = async report => {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-bench-'))
  const state = stateDir(join(dir, 'sandbox'))
  const sandbox = (command: string) =>
    execFileSync(program, ['sandbox', command, '--dir', state.dir], { stdio: ['ignore', 'ignore', 'inherit'] })
  const starts: number[] = []
  const memory: number[] = []
  let processes = 0
  try {
    // The first start builds the bundles.
    sandbox('up')
    for (let run = 0; run < 3; run++) {
      sandbox('down')
      starts.push(await timed(async () => sandbox('up')))
      const pids = await processesOf(state)
      processes = pids.length
      memory.push(memoryOfAll(pids))
    }
  } finally {
    sandbox('down')
    execFileSync('rmdir', [dir])
  }

  const [nodeStart, nodeMemory] = await bareNodes(processes)
  const idle = `${processes} Node processes that do nothing`
  report(figure('sandbox.start_warm_s', median(starts), 's', { against: idle, reference: nodeStart }, { atMost: 3 }))
  const reference = { against: idle, reference: nodeMemory }
  report(figure('sandbox.memory_mib', median(memory), 'MiB', reference, { atMost: 250 }))
}

/** In MiB. */
function memoryOfAll(pids: number[]): number {
  const kib = pids.map(pid => /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1])
  return kib.reduce((sum, value) => sum + Number(value), 0) / 1_024
}

/** Time to start Node processes one after the other, and their memory. */
async function bareNodes(count: number): Promise<[seconds: number, mib: number]> {
  const children: ChildProcess[] = []
  try {
    const seconds = await timed(async () => {
      for (let index = 0; index < count; index++) {
        const child = spawn(process.execPath, ['-e', 'console.log(1); setInterval(() => {}, 1e9)'])
        children.push(child)
        if (child.stdout) await once(child.stdout, 'data')
      }
    })
    return [seconds, memoryOfAll(children.map(({ pid = 0 }) => pid))]
  } finally {
    for (const child of children) child.kill('SIGKILL')
  }
}
