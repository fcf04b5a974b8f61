/**
 * The agent with ten NICs in a network namespace: new NICs, and NICs that are already configured. The reference is the start
 * of bare Node, and one `ip -batch` and one `nft` with the same commands. Probes are off, except as shipped. One NIC beside NetworkManager.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildAgent } from '../../scripts/build.ts'
import { nftScript, nftTable } from '../../src/agent/state/nftables.ts'
import { duplicateTimeout } from '../../src/agent/verify/connectivity.ts'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { hasNetworkManager, oneNicSeconds } from '../rigs/host/network-manager.ts'
import { createNode, type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Bench, figure, median } from './figure.ts'

/** V8 searches random primes at every start, which takes 3 to 14 ms: a few rounds would measure luck. */
const rounds = 25

/** Fewer: each takes half a second. */
const shippedRounds = 9

/** Real-time priority if allowed: other load would cost the longer run more. */
const priority = spawnSync('chrt', ['--fifo', '1', 'true']).status === 0 ? ['chrt', '--fifo', '1'] : []

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
    const lines = commandsOf(node)
    const nftFile = join(dir, 'table.nft')
    writeFileSync(nftFile, lines.nft)

    const [fresh, idle, kernel]: [Cost[], Cost[], number[]] = [[], [], []]
    const [node0, batch]: [Cost[], Cost[]] = [[], []]
    for (let round = 0; round < rounds; round++) {
      // Alternately, so that other load slows both.
      node0.push(costOf(node, {}, process.execPath, '-e', '0'))
      batch.push(costOf(node, { input: lines.do }, 'sh', '-c', `ip -batch - && nft -f ${nftFile}`))
      costOf(node, { input: lines.undo }, 'sh', '-c', 'ip -force -batch -; nft delete table ip multinic')
      fresh.push(costOf(node, apply, process.execPath, bundle))
      kernel.push(lastReport(node).timings['apply'] ?? Number.NaN)
      idle.push(costOf(node, apply, process.execPath, bundle))
      if (round < rounds - 1) costOf(node, cleanup, process.execPath, bundle)
    }
    const writes = lastReport(node).changed
    costOf(node, cleanup, process.execPath, bundle)
    const forks = forksOf(node, dir, apply, bundle)
    const [shipped, besideShipped]: [Cost[], Cost[]] = [[], []]
    for (let round = 0; round < shippedRounds; round++) {
      costOf(node, cleanup, process.execPath, bundle)
      besideShipped.push(costOf(node, {}, process.execPath, '-e', '0'))
      shipped.push(costOf(node, agentInput(node, 'apply', { probes: true }), process.execPath, bundle))
    }

    const of = (costs: readonly Cost[], what: keyof Cost) => trimmedMean(costs.map(cost => cost[what]))
    const bare = (what: keyof Cost, starts = node0) => ({
      against: 'bare Node, one ip -batch and one nft',
      reference: of(starts, what) + of(batch, what),
    })
    report(figure('agent.fresh10_wall', of(fresh, 'wall'), 'ms', bare('wall'), { atMostTimes: 3.5 }))
    report(figure('agent.fresh10_cpu', of(fresh, 'cpu'), 'ms', bare('cpu'), { atMostTimes: 3.5 }))
    report(
      figure('agent.fresh10_forks', forks, 'processes', { against: 'the Go agent', reference: 162 }, { atMost: 6 }),
    )
    const start = { against: 'bare Node', reference: of(node0, 'wall') }
    report(figure('agent.idle_wall', of(idle, 'wall'), 'ms', bare('wall'), { atMostTimes: 2.5 }))
    report(figure('agent.idle_over_start', of(idle, 'wall'), 'ms', start, { none: 'agent.idle_wall has the goal' }))
    report(figure('agent.idle_writes', writes, 'changes', { against: 'a fresh run', reference: 160 }, { atMost: 0 }))
    const withoutProbes = { against: 'the same without probes', reference: of(fresh, 'wall') }
    report(
      figure('agent.asking_wall', of(shipped, 'wall'), 'ms', withoutProbes, {
        atMost: withoutProbes.reference + 1_500,
      }),
    )
    const silence = { against: 'the silence of the duplicate check', reference: duplicateTimeout }
    report(figure('agent.shipped10_wall', of(shipped, 'wall'), 'ms', silence, { atMostTimes: 1.3 }))
    // Besides the changes: duplicate check, probes, one routed packet of each NIC, and the ways of its replies.
    report(figure('agent.shipped10_cpu', of(shipped, 'cpu'), 'ms', bare('cpu', besideShipped), { atMostTimes: 4.5 }))
    const oneBatch = { against: 'one ip -batch and one nft', reference: of(batch, 'wall') }
    report(figure('agent.kernel', median(kernel), 'ms', oneBatch, { atMostTimes: 5 }))
  } finally {
    node.remove()
    rmSync(dir, { recursive: true, force: true })
  }
  if (!hasNetworkManager) return
  const seconds = [await oneNicSeconds(), await oneNicSeconds(), await oneNicSeconds()]
  const silence = { against: 'the silence of the duplicate check', reference: duplicateTimeout / 1_000 }
  report(figure('agent.nm_one_wall_s', median(seconds), 's', silence, { atMost: 1.2 }))
}

/** The mean of the middle half: as robust as the median, and finer than the milliseconds of the shell. */
function trimmedMean(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const quarter = Math.floor(sorted.length / 4)
  const middle = sorted.slice(quarter, sorted.length - quarter)
  return middle.reduce((sum, value) => sum + value, 0) / middle.length
}

interface CommandInput {
  env?: Record<string, string>
  input?: string
}

function agentInput(node: RigNode, mode: 'apply' | 'cleanup', { probes = false } = {}): CommandInput {
  const interfaces = mode === 'apply' ? node.nics.map((nic, id) => requestedInterface(nic, id)) : []
  const input = { version: 1, mode, nodeName: 'worker-1', generation: 1, specHash: '', interfaces }
  const noProbes = { NETWORK_PROBE: 'off', NETWORK_DUPLICATE_CHECK: 'false' }
  const env = { MULTINIC_INPUT: JSON.stringify(input), MULTINIC_HOST_PREFIX: node.root, NIC_WAIT: '0s' }
  return { env: probes ? env : { ...env, ...noProbes } }
}

/** Wall time and CPU time of a command in the node, with all its children. */
function costOf(node: RigNode, { env = {}, input = '' }: CommandInput, command: string, ...args: string[]): Cost {
  const timed = ['--norc', '-c', 'TIMEFORMAT="%R %U %S"; time "$@" >/dev/null 2>&1', '_', command, ...args]
  const { stderr: timing } = spawnSync(
    'nsenter',
    [`--net=/run/netns/${node.namespace}`, ...priority, 'bash', ...timed],
    {
      input,
      encoding: 'utf8',
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', ...env },
    },
  )
  const [real = 0, user = 0, system = 0] = timing.trim().split('\n').at(-1)?.split(' ').map(Number) ?? []
  return { wall: real * 1000, cpu: (user + system) * 1000 }
}

/** The same changes as the agent: name, MTU, address, up, three routes and three rules for each NIC, and one table of nftables. */
function commandsOf(node: RigNode): { do: string; undo: string; nft: string } {
  const lines = node.nics.flatMap((nic, id) => [
    `link set dev ${nic.name} name multinic${id} mtu 1450`,
    `address add ${nic.address}/24 dev multinic${id} noprefixroute`,
    `link set dev multinic${id} up`,
    `route add ${nic.cidr} dev multinic${id} table ${100 + id} src ${nic.address} metric ${100 + id} protocol 4`,
    `route add 0.0.0.0/0 via ${nic.gateway} dev multinic${id} table ${100 + id} metric ${100 + id} onlink protocol 4`,
    `route add ${nic.cidr} dev multinic${id} src ${nic.address} metric ${20_000 + id} protocol 4`,
    `rule add from ${nic.cidr} iif lo lookup ${100 + id} priority ${10_070 + id} protocol 4`,
    `rule add from ${nic.cidr} iif lo lookup 254 suppress_prefixlength 7 priority ${10_060 + id} protocol 4`,
    `rule add iif multinic${id} fwmark ${(id + 1) * 8}/0x78 lookup 254 priority 9999 protocol 4`,
    `rule add fwmark ${(id + 1) * 8}/0x78 lookup ${100 + id} priority ${10_000 + id} protocol 4`,
  ])
  const undo = node.nics.flatMap((nic, id) => [
    ...[10_070, 10_060, 10_000].map(priority => `rule del priority ${priority + id}`),
    'rule del priority 9999',
    `address flush dev multinic${id}`,
    `link set dev multinic${id} down`,
    `link set dev multinic${id} name ${nic.name} mtu 1500`,
  ])
  const marked = node.nics.map((nic, slot) => ({
    name: `multinic${slot}`,
    slot,
    sources: [{ family: 4 as const, cidr: nic.cidr }],
    networks: [{ family: 4 as const, cidr: nic.cidr }],
  }))
  const table = nftTable(4, marked, { mask: 0x78, wires: ['ens3'], otherWay: true })
  return { do: `${lines.join('\n')}\n`, undo: `${undo.join('\n')}\n`, nft: nftScript(4, table) }
}

function lastReport(node: RigNode): AgentReport {
  return JSON.parse(readFileSync(join(node.root, 'dev/termination-log'), 'utf8')) as AgentReport
}

/** Number of processes of ip and nft that the agent starts. */
function forksOf(node: RigNode, dir: string, { env = {} }: CommandInput, bundle: string): number {
  const [bin, count] = [join(dir, 'bin'), join(dir, 'count')]
  mkdirSync(bin)
  for (const program of ['ip', 'nft']) {
    writeFileSync(join(bin, program), `#!/bin/sh\necho x >> ${count}\nexec /usr/sbin/${program} "$@"\n`)
    chmodSync(join(bin, program), 0o755)
  }
  execFileSync('nsenter', [`--net=/run/netns/${node.namespace}`, process.execPath, bundle], {
    env: { PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`, ...env },
    stdio: 'ignore',
  })
  return readFileSync(count, 'utf8').trim().split('\n').length
}
