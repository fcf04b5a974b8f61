/**
 * A node for tests: a network namespace with a primary NIC and secondary NICs, a second namespace as the fabric behind them (a
 * bridge with a router on each network), and a directory as the node's disk.
 */
import { execFile, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { AgentInput } from '../../../src/contract/agent-input.ts'
import type { AgentReport } from '../../../src/contract/agent-report.ts'
import { environment } from '../../../src/runtime/env.ts'
import { eventually } from '../../support/eventually.ts'
import { bundled } from './bundle.ts'
import { makeDisk } from './disk.ts'
import { type Entry, foreignTables, ownState } from './own-state.ts'

export interface RigNic {
  name: string
  macAddress: string
  /** The address of the fabric's router on this network. */
  gateway: string
  cidr: string
  address: string
  gateway6: string
  address6: string
}

export interface AgentResult {
  code: number | null
  report: AgentReport | undefined
  log: string
}

export interface RunningAgent {
  pid: number
  /** The log so far. */
  log(): string
  done: Promise<AgentResult>
}

export interface RigNode {
  namespace: string
  fabric: string
  root: string
  nics: RigNic[]
  /** Runs `ip` on the node; throws when it fails. */
  ip(...args: string[]): string
  fabricIp(...args: string[]): string
  fabricExec(command: string, ...args: string[]): string
  /** Runs a command in the node's namespace. */
  exec(command: string, ...args: string[]): string
  /** The same without blocking the test process. */
  execute(command: string, ...args: string[]): Promise<string>
  /** Attaches one more NIC and adds it to `nics`. */
  plug(index?: number): RigNic
  unplug(index: number): void
  /** What the boot does for the primary NIC when no daemon of the rig does it. */
  bringUpPrimary(): void
  /** New kernel state and another boot ID; the same NICs and the same disk. Nothing is configured yet. */
  reboot(): Promise<void>
  agent(input: Partial<AgentInput>, env?: Record<string, string>): Promise<AgentResult>
  /** Starts the agent without waiting for its end. */
  start(input: Partial<AgentInput>, env?: Record<string, string>): RunningAgent
  path(file: string): string
  remove(): void
}

let nodeCount = 0

/** The agent syncs every file, which is fast in memory. */
const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

export interface NodeOptions {
  nics?: number
  files?: Record<string, string>
  /** All NICs in one subnet, on one bridge. */
  oneSubnet?: boolean
  /** False: the node has no IPv6 sysctls, like a kernel with ipv6.disable=1. */
  ipv6?: boolean
}

export async function createNode({
  nics = 2,
  files = {},
  oneSubnet = false,
  ipv6 = true,
}: NodeOptions = {}): Promise<RigNode> {
  const namespace = `mna${process.pid}-${++nodeCount}`
  const fabric = `${namespace}f`
  const agent = await bundled('src/agent/entry.ts')
  const root = mkdtempSync(join(memory, 'multinic-node-'))
  for (const name of [namespace, fabric]) execFileSync('ip', ['netns', 'add', name])
  batch(fabric, [
    'link set lo up',
    'link add br0 type bridge',
    'address add 10.0.0.1/24 dev br0',
    'link set br0 up',
    ...primary(namespace),
  ])
  makeDisk(root, files, ipv6)
  const node: RigNode = {
    namespace,
    fabric,
    root,
    nics: [],
    ip: (...args) => run('ip', '-n', namespace, ...args),
    fabricIp: (...args) => run('ip', '-n', fabric, ...args),
    fabricExec: (command, ...args) => run('nsenter', `--net=/run/netns/${fabric}`, command, ...args),
    exec: (command, ...args) => run('nsenter', `--net=/run/netns/${namespace}`, command, ...args),
    execute: async (command, ...args) => {
      const inside = [`--net=/run/netns/${namespace}`, command, ...args]
      return (await promisify(execFile)('nsenter', inside, { maxBuffer: 1 << 26 })).stdout
    },
    plug(index = node.nics.length) {
      const nic = plug(namespace, fabric, index, node.nics[index], oneSubnet)
      node.nics[index] = nic
      return nic
    },
    unplug: index => void run('ip', '-n', fabric, 'link', 'del', `p${index + 1}`),
    bringUpPrimary() {
      batch(namespace, [
        'link set lo up',
        'link set ens3 up',
        'address add 10.0.0.10/24 dev ens3',
        'route add default via 10.0.0.1 dev ens3',
      ])
    },
    async reboot() {
      execFileSync('ip', ['netns', 'del', namespace])
      // The kernel removes the other ends of the veth pairs a little later.
      await eventually(() => {
        if (/ p\d/.test(run('ip', '-n', fabric, '-o', 'link', 'show', 'type', 'veth')))
          throw new Error('veth devices still there')
      })
      execFileSync('ip', ['netns', 'add', namespace])
      batch(fabric, primary(namespace))
      for (const index of node.nics.keys()) node.plug(index)
      writeFileSync(join(root, 'host/boot_id'), `boot-${++nodeCount}\n`)
    },
    agent: (input, env) => node.start(input, env).done,
    start: (input, env = {}) => start(node, agent, input, env),
    path: file => join(root, file),
    remove() {
      for (const name of [namespace, fabric]) execFileSync('ip', ['netns', 'del', name])
      rmSync(root, { recursive: true, force: true })
    },
  }
  node.bringUpPrimary()
  for (let index = 0; index < nics; index++) node.plug()
  await eventually(() => run('ip', '-n', namespace, 'route', 'get', '10.0.0.1'))
  return node
}

/** Creates nodes and removes them after all tests of the file. */
export function nodeFactory(after: (end: () => void) => void): (options?: NodeOptions) => Promise<RigNode> {
  const nodes: RigNode[] = []
  after(() => {
    for (const node of nodes) node.remove()
  })
  return async options => {
    const node = await createNode(options)
    nodes.push(node)
    return node
  }
}

/** Creates a node for one test and removes it afterwards. */
export async function withNode(options: NodeOptions, test: (node: RigNode) => Promise<void>): Promise<void> {
  const node = await createNode(options)
  try {
    await test(node)
  } finally {
    node.remove()
  }
}

/** A request for one NIC of the rig, as the controller writes it. */
export function requestedInterface(
  nic: RigNic,
  index: number,
  more: Partial<AgentInput['interfaces'][number]> = {},
): AgentInput['interfaces'][number] {
  return {
    id: index,
    name: `multinic${index}`,
    macAddress: nic.macAddress,
    portId: `port-${nic.macAddress.replaceAll(':', '')}`,
    address: nic.address,
    cidr: nic.cidr,
    gateway: nic.gateway,
    mtu: 1450,
    ...more,
  }
}

function jsonOf(node: RigNode, ...args: string[]): Entry[] {
  return JSON.parse(node.ip('-N', '-j', '-d', ...args) || '[]') as Entry[]
}

const bothFamilies = <T>(of: (family: string) => T[]): T[] => ['-4', '-6'].flatMap(of)

/** Names of the devices with these MAC addresses. */
function devicesOf(links: readonly Entry[], macAddresses: readonly string[]): Set<unknown> {
  return new Set(links.filter(link => macAddresses.includes(String(link['address']))).map(link => link['ifname']))
}

function readOwnState(node: RigNode, macAddresses: readonly string[]) {
  const links = jsonOf(node, 'address', 'show')
  const routes = bothFamilies(family => jsonOf(node, family, 'route', 'show', 'table', 'all'))
  const ours = devicesOf(links, macAddresses)
  return { links, routes, ours, ...ownState(links, routes, ours) }
}

/** Rules, one JSON text each, that select neither packets of our devices nor marks of ours, whatever their priority is. */
export function foreignRules(node: RigNode, ourMacAddresses: readonly string[]): string[] {
  const { isOurRule } = readOwnState(node, ourMacAddresses)
  return bothFamilies(family =>
    jsonOf(node, family, 'rule', 'list').flatMap(rule => (isOurRule(rule) ? [] : `${family} ${JSON.stringify(rule)}`)),
  )
}

/**
 * Everything on the node that is not ours, as one string: equal before and after every run (G1). Rules that were foreign
 * before the run stay foreign, even if they look like ours after it: pass them as `rulesBefore`.
 */
export function foreignState(
  node: RigNode,
  ourMacAddresses: readonly string[],
  rulesBefore: readonly string[] = [],
): string {
  const { links, routes: all, ours, isOurRoute } = readOwnState(node, ourMacAddresses)
  const foreign = links.filter(link => !ours.has(link['ifname']))
  const stable = foreign.map(({ operstate: _, addr_info, ...link }) => ({
    ...link,
    addresses: (addr_info as Entry[]).filter(address => address['scope'] !== '253'),
  }))
  const routes = all.filter(route => !isOurRoute(route) && !String(route['dst']).startsWith('fe80::'))
  const present = bothFamilies(family =>
    jsonOf(node, family, 'rule', 'list').map(rule => `${family} ${JSON.stringify(rule)}`),
  )
  const stillForeign = new Set([...foreignRules(node, ourMacAddresses), ...rulesBefore])
  const rules = present.filter(rule => stillForeign.has(rule))
  const settings = node
    .exec('sh', '-c', 'grep -rs . /proc/sys/net/ipv4/conf /proc/sys/net/ipv6/conf || true')
    .split('\n')
    .filter(line => !ours.has(line.split('/')[6]))
    .sort()
  const files = diskOf(node, path => !/multinic/.test(path))
  const nft = foreignTables(node.exec('nft', '--stateless', 'list', 'ruleset')).split('\n')
  return JSON.stringify({ stable, routes, rules, nft, settings, files }, undefined, 1)
}

/** Files below the node's /etc with mode and text. */
export function diskOf(node: RigNode, include: (path: string) => boolean = () => true): Record<string, string> {
  const found: Record<string, string> = {}
  for (const item of readdirSync(join(node.root, 'etc'), { recursive: true, withFileTypes: true })) {
    const path = join(item.parentPath, item.name)
    const name = path.slice(node.root.length)
    if (item.isFile() && include(name))
      found[name] = `${(statSync(path).mode & 0o7777).toString(8)} ${readFileSync(path, 'utf8')}`
  }
  return Object.fromEntries(Object.entries(found).sort())
}

function primary(namespace: string): string[] {
  return [
    `link add p0 type veth peer name ens3 address fa:16:3e:ff:00:00 netns ${namespace}`,
    'link set p0 master br0 up',
  ]
}

function plug(namespace: string, fabric: string, index: number, known: RigNic | undefined, oneSubnet: boolean): RigNic {
  const net = oneSubnet ? 0 : index
  const [p, br] = [`p${index + 1}`, `br${net + 1}`]
  const nic: RigNic = known ?? {
    name: `ens${index + 4}`,
    macAddress: `fa:16:3e:00:00:${(index + 1).toString(16).padStart(2, '0')}`,
    gateway: `10.${100 + net}.0.1`,
    cidr: `10.${100 + net}.0.0/24`,
    address: `10.${100 + net}.0.${oneSubnet ? 10 + index : 10}`,
    gateway6: `fd00:${net}::1`,
    address6: `fd00:${net}::${oneSubnet ? 10 + index : 10}/64`,
  }
  // networkd 252 as DHCP server repeats its request for an address without broadcast address until it gives up.
  const bridge = [
    `link add ${br} type bridge`,
    `address add ${nic.gateway}/24 brd + dev ${br}`,
    `address add ${nic.gateway6}/64 dev ${br} nodad`,
    `link set ${br} up`,
  ]
  batch(fabric, [
    ...(known || net < index ? [] : bridge),
    `link add ${p} type veth peer name ${nic.name} address ${nic.macAddress} netns ${namespace}`,
    `link set ${p} master ${br} up`,
  ])
  return nic
}

function start(node: RigNode, agent: string, values: Partial<AgentInput>, more: Record<string, string>): RunningAgent {
  const input: AgentInput = {
    version: 1,
    mode: 'apply',
    nodeName: 'worker-1',
    generation: 1,
    specHash: 'hash',
    nodeAddresses: ['10.0.0.10'],
    interfaces: [],
    ...values,
  }
  const termination = join(node.root, 'dev/termination-log')
  rmSync(termination, { force: true })
  // The same capabilities as in the Job.
  const caps = '-all,+net_admin'
  const setpriv = ['setpriv', '--no-new-privs', `--bounding-set=${caps}`, `--inh-caps=${caps}`, '--']
  const child = spawn('nsenter', [`--net=/run/netns/${node.namespace}`, ...setpriv, process.execPath, agent], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: environment()['PATH'],
      MULTINIC_INPUT: JSON.stringify(input),
      MULTINIC_HOST_PREFIX: node.root,
      NIC_WAIT: '0s',
      ...more,
    },
  })
  let log = ''
  child.stdout.on('data', chunk => (log += chunk))
  child.stderr.on('data', chunk => (log += chunk))
  const done = new Promise<AgentResult>((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      const text = statSync(termination, { throwIfNoEntry: false }) ? readFileSync(termination, 'utf8') : ''
      resolve({ code, report: text ? (JSON.parse(text) as AgentReport) : undefined, log })
    })
  })
  return { pid: child.pid ?? 0, log: () => log, done }
}

function batch(namespace: string, lines: readonly string[]): void {
  execFileSync('ip', ['-n', namespace, '-batch', '-'], {
    input: `${lines.join('\n')}\n`,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}
