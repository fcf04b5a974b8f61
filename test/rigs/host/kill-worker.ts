/**
 * Runs inside a node's network namespace. Kills the agent and its process group after every step of the change from one
 * request to another, lets the next run recover, and compares the whole node with its old and its new state. With two
 * DIRECTIONS it repeats that for the way back. With BOOTED, NetworkManager has activated our profiles, as after a boot.
 * With SAMPLED, it kills after the first, the last and the middle one of the steps of each kind. KERNEL is that of the
 * agent. Prints the kinds of the steps of each direction.
 *
 *   kill-worker.ts ROOT AGENT PROBE KERNEL INPUT-FROM INPUT-TO PART PARTS DIRECTIONS BOOTED SAMPLED
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { recover } from '../../../src/agent/apply/recover.ts'
import { connectNetworkManager } from '../../../src/agent/daemons/network-manager.ts'
import { kernelHost } from '../../../src/agent/host/host.ts'
import { observe } from '../../../src/agent/observe/observe.ts'
import { pathsUnder } from '../../../src/agent/paths.ts'
import type { Observed } from '../../../src/agent/state/observed.ts'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import { canonicalJson } from '../../../src/contract/hash.ts'
import { silent } from '../../../src/telemetry/log.ts'
import { unlimited, withoutLiveRename, withoutWaits } from './killable-host.ts'

const [root = '', agent = '', probe = '', kernel = '', textFrom = '', textTo = '', ...numbers] = process.argv.slice(2)
const [part = 0, parts = 1, directions = 1, booted = 0, sampled = 0] = numbers.map(Number)
const paths = pathsUnder(root)
const host = withoutWaits(kernel === 'old' ? withoutLiveRename(kernelHost()) : kernelHost())
const networkManager = await connectNetworkManager(host, paths)
/** Milliseconds. NetworkManager needs some time to manage a NIC again. */
const settleTimeout = networkManager ? 15_000 : 0
const pollInterval = 100

const inputFrom = JSON.parse(textFrom) as AgentInput
const inputTo = JSON.parse(textTo) as AgentInput
const macAddresses = [...inputFrom.interfaces, ...inputTo.interfaces].map(nic => nic.macAddress)

/** A request, and the state of the node after it. */
interface Endpoint {
  input: AgentInput
  state: string
  /** Kinds of the steps that lead to it from the other endpoint. */
  kinds: string[]
}

/** Starts the agent as the leader of a process group. Returns its exit code or signal. */
async function start(steps: number, ...input: string[]): Promise<number | string> {
  const args = [agent, root, String(steps), probe, kernel, ...input]
  const child = spawn(process.execPath, args, { detached: true, stdio: ['ignore', 'ignore', 'inherit'] })
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? ''
}

function run(input: AgentInput, steps = unlimited): Promise<number | string> {
  return start(steps, JSON.stringify(input))
}

/**
 * Everything on the node that a step could change, foreign or not, one line each. Leaves out what the kernel changes on its
 * own later, and the order of rules with the same priority.
 */
async function state(): Promise<string> {
  const observed: Observed = await observe({ host, networkManager, paths, log: silent }, { macAddresses })
  const linesOf = (kind: string, items: readonly unknown[]) => items.map(item => `${kind} ${canonicalJson(item)}`)
  const staged = Object.values(paths).flatMap(directory => (host.list(directory) ?? []).filter(name => name[0] === '.'))
  const lines = [
    ...linesOf(
      'link',
      observed.links.map(({ carrier: _, ...link }) => link),
    ),
    ...linesOf(
      'address',
      observed.addresses.filter(address => !address.linkLocal).map(({ tentative: _, ...address }) => address),
    ),
    ...linesOf(
      'route',
      observed.routes.filter(route => route.table !== 255 && !route.destination.startsWith('fe80')),
    ),
    ...linesOf('rule', observed.rules),
    ...linesOf('nft', Object.entries(observed.nft)),
    ...linesOf('sysctl', Object.entries(observed.sysctls)),
    ...linesOf('manager', Object.entries(observed.managers)),
    ...linesOf('file', Object.entries(observed.files)),
    ...linesOf('left', [...staged, ...(host.list(paths.state) ?? []).filter(name => name.startsWith('journal'))]),
  ]
  return lines.sort().join('\n')
}

/** Applies the request completely. */
async function apply(input: AgentInput): Promise<void> {
  assert.equal(await run(input), 0)
  if (booted) for (const nic of input.interfaces) await networkManager?.manage(nic.name ?? '', { ours: nic.macAddress })
}

/** The state, as soon as it is one of these. */
async function settledState(...expected: string[]): Promise<string> {
  for (const until = performance.now() + settleTimeout; ; await sleep(pollInterval)) {
    const now = await state()
    if (expected.includes(now) || performance.now() >= until) return now
  }
}

/** The state that NetworkManager leaves: the same several times in a row. */
async function finalState(): Promise<string> {
  let last = await state()
  for (let same = 0; networkManager && same < 10; ) {
    await sleep(pollInterval)
    const now = await state()
    same = now === last ? same + 1 : 0
    last = now
  }
  return last
}

/** Numbers of steps after which to kill. */
function* killsOf(kinds: readonly string[]): Generator<number> {
  if (!sampled) for (let steps = part; ; steps += parts) yield steps
  const chosen = new Set<number>()
  for (const kind of new Set(kinds)) {
    const steps = kinds.flatMap((each, index) => (each === kind ? index + 1 : []))
    for (const at of [0, steps.length >> 1, steps.length - 1]) chosen.add(steps[at] ?? 0)
  }
  yield* [...chosen].sort((a, b) => a - b).filter((_, index) => index % parts === part)
  yield unlimited
}

async function killAtEveryStep(from: Endpoint, to: Endpoint): Promise<void> {
  const name = `part ${part} of ${parts}`
  for (const steps of killsOf(to.kinds)) {
    const end = await run(to.input, steps)
    if (end === 0) {
      assert.equal(await settledState(to.state), to.state, `${name}, without a kill`)
      return
    }
    assert.equal(end, 'SIGKILL', `${name}, step ${steps}`)
    // The recovery may be killed as well.
    if (steps % 4 === 0) await start(steps % 7)
    const { notRestored } = await recover({ host, networkManager, paths, log: silent })
    assert.deepEqual(notRestored, [], `${name}, killed after ${steps} steps`)
    const now = await settledState(from.state, to.state)
    if (now === from.state) continue
    assert.equal(now, to.state, `${name}, killed after ${steps} steps: neither the old nor the new state`)
    await apply(from.input)
    assert.equal(await settledState(from.state), from.state, `${name}, back after a kill at step ${steps}`)
  }
}

async function applyInput(input: AgentInput): Promise<Endpoint> {
  await apply(input)
  const kinds = JSON.parse(readFileSync(`${root}/steps.json`, 'utf8')) as string[]
  return { input, state: await finalState(), kinds }
}

// The first runs create directories and backups, which are not compared.
for (const input of [inputTo, inputFrom]) await applyInput(input)
const to = await applyInput(inputTo)
const from = await applyInput(inputFrom)
assert.notEqual(from.state, to.state)
await killAtEveryStep(from, to)
if (directions > 1) await killAtEveryStep(to, from)
networkManager?.close()
process.stdout.write(`${JSON.stringify([to.kinds, from.kinds].slice(0, directions))}\n`)
