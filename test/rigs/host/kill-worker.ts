/**
 * Runs inside a node's network namespace: kills the agent with its whole process group after every single step on the way
 * from one wanted state to another, and back where two WAYS are asked for; lets the next one recover, and holds the
 * whole node to its old good state or its new one. Prints the steps that each way takes.
 *
 *   killed-everywhere.ts ROOT VICTIM INPUT-FROM INPUT-TO PART OF WAYS
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { kernelHost } from '../../../src/agent/host.ts'
import { observe } from '../../../src/agent/observe.ts'
import type { Observed } from '../../../src/agent/observed.ts'
import { pathsUnder } from '../../../src/agent/paths.ts'
import { recover } from '../../../src/agent/recover.ts'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { canonicalJson } from '../../../src/contract/hash.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { hurried } from './killable-host.ts'

const [root = '', victim = '', textFrom = '', textTo = '', ...share] = process.argv.slice(2)
const [part = 0, of = 1, ways = 1] = share.map(Number)
const paths = pathsUnder(root)
const host = hurried(kernelHost())
const unlimited = 1_000_000

const here = JSON.parse(textFrom) as AgentInput
const there = JSON.parse(textTo) as AgentInput
const macs = [...here.interfaces, ...there.interfaces].map(nic => nic.macAddress)

/** What is asked for, and what the node then is. */
interface Place {
  wanted: AgentInput
  state: string
}

/** The leader of a process group of its own; its end is 0, or the signal. */
async function start(steps: number, ...input: string[]): Promise<number | string> {
  const args = [victim, root, String(steps), ...input]
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? ''
}

function run(input: AgentInput, steps = unlimited): Promise<number | string> {
  return start(steps, JSON.stringify(input))
}

/**
 * Everything on the node, foreign or not, that a step could change, a line each; without what the kernel does by itself
 * later, and without the order of rules of one priority.
 */
async function state(): Promise<string> {
  const seen: Observed = await observe(host, { paths, macs })
  const of = (kind: string, items: readonly unknown[]) => items.map(item => `${kind} ${canonicalJson(item)}`)
  const staged = Object.values(paths).flatMap(directory => (host.list(directory) ?? []).filter(name => name[0] === '.'))
  const lines = [
    ...of(
      'link',
      seen.links.map(({ carrier: _, ...link }) => link),
    ),
    ...of(
      'address',
      seen.addresses.filter(address => !address.linkLocal).map(({ tentative: _, ...address }) => address),
    ),
    ...of(
      'route',
      seen.routes.filter(route => route.table !== 255 && !route.destination.startsWith('fe80')),
    ),
    ...of('rule', seen.rules),
    ...of('sysctl', Object.entries(seen.sysctls)),
    ...of('file', Object.entries(seen.files)),
    ...of('left', [...staged, ...(host.list(paths.state) ?? []).filter(name => name.startsWith('journal'))]),
  ]
  return lines.sort().join('\n')
}

async function everyStep(from: Place, to: Place): Promise<number> {
  const way = `step by step, part ${part} of ${of}`
  for (let steps = part; ; steps += of) {
    const end = await run(to.wanted, steps)
    if (end === 0) {
      assert.equal(await state(), to.state, `${way} without a kill`)
      return steps
    }
    assert.equal(end, 'SIGKILL', `${way}, step ${steps}`)
    // The one that takes it back may be killed as well.
    if (steps % 4 === 0) await start(steps % 7)
    await recover({ host, paths, log: silent })
    const now = await state()
    if (now === from.state) continue
    assert.equal(now, to.state, `${way}, killed after ${steps} steps, is neither old nor new`)
    assert.equal(await run(from.wanted), 0)
    assert.equal(await state(), from.state, `back after a kill at step ${steps} of ${way}`)
  }
}

async function arrive(wanted: AgentInput): Promise<Place> {
  assert.equal(await run(wanted), 0)
  return { wanted, state: await state() }
}

// The first runs make our directories and backups, which are no part of what is compared.
for (const wanted of [there, here]) await arrive(wanted)
const goal = await arrive(there)
const origin = await arrive(here)
assert.notEqual(origin.state, goal.state)
const taken = [await everyStep(origin, goal)]
// The node has arrived: the way back begins here.
if (ways > 1) taken.push(await everyStep(goal, origin))
process.stdout.write(`${JSON.stringify(taken)}\n`)
