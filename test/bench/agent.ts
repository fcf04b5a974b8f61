/**
 * The agent on ten NICs of a namespace: fresh ones, and ten that are as wanted. The reference is the start of bare Node and
 * one `ip -batch` that does the same. Nobody is asked on the wire, but where that is what is measured.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildAgent } from '../../scripts/build.ts'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { createNode, type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Bench, figure, median } from './figure.ts'

/** V8 looks for random primes at every start, which takes it 3 to 14 ms: few rounds would measure its luck. */
const rounds = 25

/** Where we may, both go first in line: what else the machine does would cost the longer one more. */
const inLine = spawnSync('chrt', ['--fifo', '1', 'true']).status === 0 ? ['chrt', '--fifo', '1'] : []

interface Cost {
  wall: number
  cpu: number
}

export const bench: Bench = async report => {
  const dir = mkdtempSync(join(tmpdir(), 'multinic-bench-'))
  const node = await createNode({ nics: 10 })
  try {
    const bundle = join(dir, 'agent.cjs')
    await buildAgent(bundle)
    const apply = agentInput(node, 'apply')
    const cleanup = agentInput(node, 'cleanup')
    const lines = batchOf(node)

    const [fresh, idle, kernel]: [Cost[], Cost[], number[]] = [[], [], []]
    const [node0, batch]: [Cost[], Cost[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      // In turns: whatever else the machine does slows both.
      node0.push(costOf(node, {}, process.execPath, '-e', '0'))
      batch.push(costOf(node, { input: lines.do }, 'ip', '-batch', '-'))
      costOf(node, { input: lines.undo }, 'ip', '-force', '-batch', '-')
      fresh.push(costOf(node, apply, process.execPath, bundle))
      kernel.push(lastReport(node).timings['apply'] ?? Number.NaN)
      idle.push(costOf(node, apply, process.execPath, bundle))
      if (round < rounds - 1) costOf(node, cleanup, process.execPath, bundle)
    }
    const writes = lastReport(node).changed
    costOf(node, cleanup, process.execPath, bundle)
    const forks = forksOf(node, dir, apply, bundle)
    const asking: Cost[] = []
    for (let round = 0; round < 3; round++) {
      costOf(node, cleanup, process.execPath, bundle)
      asking.push(costOf(node, agentInput(node, 'apply', { asks: true }), process.execPath, bundle))
    }

    const of = (costs: readonly Cost[], what: keyof Cost) => usual(costs.map(cost => cost[what]))
    const bare = (what: keyof Cost) => ({
      against: 'bare Node and one ip -batch',
      reference: of(node0, what) + of(batch, what),
    })
    report(
      figure('agent.fresh10_wall', of(fresh, 'wall'), 'ms', bare('wall'), { atMost: 2.5 * bare('wall').reference }),
    )
    report(figure('agent.fresh10_cpu', of(fresh, 'cpu'), 'ms', bare('cpu'), { atMost: 2.5 * bare('cpu').reference }))
    report(
      figure('agent.fresh10_forks', forks, 'processes', { against: 'the Go agent', reference: 162 }, { atMost: 6 }),
    )
    const start = { against: 'bare Node', reference: of(node0, 'wall') }
    report(figure('agent.idle_wall', of(idle, 'wall'), 'ms', bare('wall'), { atMost: 2 * bare('wall').reference }))
    report(figure('agent.idle_over_start', of(idle, 'wall'), 'ms', start))
    report(figure('agent.idle_writes', writes, 'changes', { against: 'a fresh run', reference: 160 }, { atMost: 0 }))
    const silent = { against: 'the same without asking', reference: of(fresh, 'wall') }
    report(figure('agent.asking_wall', of(asking, 'wall'), 'ms', silent, { atMost: silent.reference + 1_500 }))
    const one = { against: 'one ip -batch', reference: of(batch, 'wall') }
    report(figure('agent.kernel', median(kernel), 'ms', one, { atMost: 5 * one.reference }))
  } finally {
    node.remove()
    rmSync(dir, { recursive: true, force: true })
  }
}

/** The mean of the middle half: as steady as the median, and finer than the milliseconds that the shell counts in. */
function usual(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const quarter = Math.floor(sorted.length / 4)
  const middle = sorted.slice(quarter, sorted.length - quarter)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}

interface Given {
  env?: Record<string, string>
  input?: string
}

function agentInput(node: RigNode, mode: 'apply' | 'cleanup', { asks = false } = {}): Given {
  const interfaces = mode === 'apply' ? node.nics.map((nic, id) => requestedInterface(nic, id)) : []
  const input = { version: 1, mode, nodeName: 'worker-1', generation: 1, specHash: '', interfaces }
  const asksNobody = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false' }
  const env = { MULTINIC_INPUT: JSON.stringify(input), MULTINIC_HOST_PREFIX: node.root, NIC_WAIT: '0s' }
  return { env: asks ? env : { ...env, ...asksNobody } }
}

/** Wall and processor time of a command in the node, the processor's with all its children. */
function costOf(node: RigNode, { env = {}, input = '' }: Given, command: string, ...args: string[]): Cost {
  const timed = ['--norc', '-c', 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1', '_', command, ...args]
  const { stderr: said } = spawnSync('nsenter', [`--net=/run/netns/${node.namespace}`, ...inLine, 'bash', ...timed], {
    input,
    encoding: 'utf8',
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env },
  })
  const [real = 0, user = 0, system = 0] = said.trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
  return { wall: real * 1000, cpu: (user + system) * 1000 }
}

/** The same as the agent does: name, MTU, address, up, two routes, two rules. */
function batchOf(node: RigNode): { do: string; undo: string } {
  const lines = node.nics.flatMap((nic, id) => [
    `link set dev ${nic.name} name multinic${id} mtu 1450`,
    `address add ${nic.address}/24 dev multinic${id} noprefixroute`,
    `link set dev multinic${id} up`,
    `route add ${nic.cidr} dev multinic${id} table ${100 + id} src ${nic.address} metric ${100 + id} protocol 4`,
    `route add 0.0.0.0/0 via ${nic.gateway} dev multinic${id} table ${100 + id} metric ${100 + id} protocol 4`,
    `rule add from ${nic.address}/32 lookup ${100 + id} priority ${10_100 + id} protocol 4`,
    `rule add to ${nic.cidr} lookup ${100 + id} priority ${10_100 + id} protocol 4`,
  ])
  const undo = node.nics.flatMap((nic, id) => [
    `rule del priority ${10_100 + id}`,
    `rule del priority ${10_100 + id}`,
    `address flush dev multinic${id}`,
    `link set dev multinic${id} down`,
    `link set dev multinic${id} name ${nic.name} mtu 1500`,
  ])
  return { do: `${lines.join('\n')}\n`, undo: `${undo.join('\n')}\n` }
}

function lastReport(node: RigNode): AgentReport {
  return JSON.parse(readFileSync(join(node.root, 'dev/termination-log'), 'utf8')) as AgentReport
}

/** Every start of `ip` leaves a line. */
function forksOf(node: RigNode, dir: string, { env = {} }: Given, bundle: string): number {
  const [bin, count] = [join(dir, 'bin'), join(dir, 'count')]
  mkdirSync(bin)
  writeFileSync(join(bin, 'ip'), `#!/bin/sh\necho x >> ${count}\nexec /sbin/ip "$@"\n`)
  chmodSync(join(bin, 'ip'), 0o755)
  execFileSync('nsenter', [`--net=/run/netns/${node.namespace}`, process.execPath, bundle], {
    env: { PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`, ...env },
    stdio: 'ignore',
  })
  return readFileSync(count, 'utf8').trim().split('\n').length
}
