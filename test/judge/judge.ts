/**
 * Plays the same seeds to two source trees and compares what left them: each seed of each tree in a process of its own.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { environment } from '../../src/runtime/env.ts'
import { type Accepted, compare, type Difference, type Step } from './compare.ts'

export type Part = 'operator' | 'agent'

export interface Trial {
  /** Source trees: the former one and the one to judge. */
  was: string
  is: string
  parts: readonly Part[]
  seeds: readonly number[]
  operations: number
  accepted: readonly Accepted[]
  print: (text: string) => void
  /** Default: the number of processors. */
  jobs?: number
}

const maxPrinted = 5
const programs: Record<Part, string> = { operator: 'operator-side.ts', agent: 'agent-side.ts' }

/** The differences of all seeds. Throws if a side cannot play. */
export async function judge({
  was,
  is,
  parts,
  seeds,
  operations,
  accepted,
  print,
  jobs,
}: Trial): Promise<Difference[]> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-judged-'))
  const found: Difference[] = []
  const started: Promise<unknown>[] = []
  try {
    const trials = parts.flatMap(part => seeds.map(seed => ({ part, seed })))
    const limit = limited(jobs ?? availableParallelism())
    const playing = trials.map(({ part, seed }) => {
      const sides = [was, is].map((root, side) =>
        limit(() => played(part, [root, String(seed), String(operations), join(dir, `${part}-${seed}-${side}.json`)])),
      )
      const result = Promise.all(sides)
      started.push(...sides)
      result.catch(() => {})
      return { part, seed, result }
    })
    for (const { part, seed, result } of playing) {
      const [before = [], after = []] = await result
      const differences = compare(before, after, accepted)
      report({ part, seed, differences, print, requests: after.reduce((sum, { sent }) => sum + sent.length, 0) })
      found.push(...differences)
    }
    return found
  } finally {
    // Others still play when one cannot.
    await Promise.allSettled(started)
    await rm(dir, { recursive: true, force: true })
  }
}

interface Report {
  part: Part
  seed: number
  requests: number
  differences: readonly Difference[]
  print: (text: string) => void
}

function report({ part, seed, requests, differences, print }: Report): void {
  const open = differences.filter(({ accepted }) => !accepted)
  for (const { step, operation, text } of open.slice(0, maxPrinted))
    print(`${part}, seed ${seed}, operation ${step} (${operation})\n  ${text}`)
  const left = open.length - maxPrinted
  if (left > 0) print(`${part}, seed ${seed}: ${left} more differences, which may follow from these`)
  print(`${part}, seed ${seed}: ${requests} requests and changes, ${differences.length} differences`)
}

async function played(part: Part, args: readonly string[]): Promise<Step[]> {
  const [clock, program] = ['clock.ts', programs[part]].map(name => join(import.meta.dirname, name))
  const options = ['--disable-warning=ExperimentalWarning', '--import', clock as string, program as string]
  const child = spawn(process.execPath, [...options, ...args], {
    env: environment() as NodeJS.ProcessEnv,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code, signal] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${part}, seed ${args[1]} of ${args[0]}: ended with ${code ?? signal}`)
  return JSON.parse(await readFile(args.at(-1) ?? '', 'utf8')) as Step[]
}

function limited(max: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  return async work => {
    if (running >= max) await new Promise<void>(resolve => waiting.push(resolve))
    else running++
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}

/** Writes the source tree of a commit to a new directory, with the packages of this tree. */
export async function treeOf(commit: string, root: string): Promise<AsyncDisposable & { dir: string }> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-judged-tree-'))
  const remove = () => rm(dir, { recursive: true, force: true })
  try {
    await mkdir(join(dir, 'tree'))
    const archive = join(dir, 'tree.tar')
    const run = promisify(execFile)
    await run('git', ['-C', root, 'archive', '--output', archive, commit])
    await run('tar', ['--extract', '--file', archive, '--directory', join(dir, 'tree')])
    await symlink(join(root, 'node_modules'), join(dir, 'tree/node_modules'))
    return { dir: join(dir, 'tree'), [Symbol.asyncDispose]: remove }
  } catch (error) {
    await remove()
    throw error
  }
}
