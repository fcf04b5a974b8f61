/**
 * A sandbox for one test file: simulated cloud and clusters in this process, our components as processes of the real program.
 * Reads the state from the kernel, the disk and the APIs.
 */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { request } from 'undici'
import { findServer, findSubnet } from '../../sandbox/cloud/state.ts'
import type { RealServices } from '../../sandbox/faults/unavailable.ts'
import { sandboxNamespace } from '../../sandbox/lifecycle/components.ts'
import { createConfig, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { makeStateDir, stateDir, stopAndRemove } from '../../sandbox/lifecycle/state-dir.ts'
import type { Machine } from '../../sandbox/nodes/machine.ts'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import type { InventoryRecord } from '../../src/contract/inventory.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { type OpenstackConfig, openstackConfigs } from '../../src/contract/openstack-config.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { eventually } from '../support/eventually.ts'

export interface TestSandboxOptions {
  nodes?: number
  nicDelayMs?: number
  withConfig?: boolean
  /** Address of a broker for the notifications of the cloud. */
  rabbitmq?: string
  /** Services that are real instead of simulated. */
  real?: RealServices
  /** Additional environment of every component. */
  env?: Record<string, string>
  /** Simulates the nodes in memory. */
  simulated?: boolean
}

/** A NIC in the kernel. */
export interface NicState {
  name: string
  macAddress: string
  mtu: number
  up: boolean
  addresses: string[]
}

/** Everything on a node that can change. */
export interface NodeState {
  /** Sorted by name. */
  nics: NicState[]
  /** `10050: from 10.10.0.10 iif lo lookup 100` */
  rules: string[]
  /** `100: default via 10.10.0.1 dev multinic0` */
  routes: string[]
  /** Texts by path below /, without backups. */
  files: Record<string, string>
}

export interface TestSandbox {
  readonly sandbox: Sandbox
  attach: Sandbox['attach']
  detach: Sandbox['detach']
  nodeState(node: string): Promise<NodeState>
  nodeConfig(node: string): Promise<NodeConfig>
  openstackConfig(name?: string): Promise<OpenstackConfig>
  addConfig(name: string, vms: string[], subnets: string[]): Promise<void>
  inventory(node: string): Promise<InventoryRecord>
  /** A request to an API of a component. */
  call(
    url: string,
    init?: { method?: 'GET' | 'POST' | 'DELETE'; body?: unknown; headers?: Record<string, string> },
  ): Promise<ApiResponse>
  /** Resolves when every attached port is a configured NIC and no other interface of ours exists. */
  waitUntilReady(within?: number): Promise<void>
  killComponent(name: 'operator' | 'viola' | 'controller'): void
  stop(): Promise<void>
}

export interface ApiResponse {
  status: number
  body: unknown
}

export async function startTestSandbox(options: TestSandboxOptions = {}): Promise<TestSandbox> {
  const { nodes = 3, nicDelayMs = 100, withConfig = true, rabbitmq, real, env, simulated } = options
  const state = stateDir(await mkdtemp(join(tmpdir(), 'multinic-system-')))
  await makeStateDir(state)
  const log = createLog({ component: 'sandbox' }, { level: 'error' })
  const sandbox = await startSandbox({
    state,
    nodes,
    nicDelayMs,
    withConfig,
    rabbitmq,
    real,
    env,
    simulated,
    log,
  }).catch(async error => {
    await stopAndRemove(state)
    throw error
  })
  const { management, biz, cloudState, urls } = sandbox
  const nodeOf = (name: string) => sandbox.nodes.get(name) ?? assert.fail(`node ${name} not found`)

  async function call(url: string, init: Parameters<TestSandbox['call']>[1] = {}): Promise<ApiResponse> {
    const { method = 'GET', body, headers = {} } = init
    const authorization = `Bearer ${await readFile(state.path('operator-token'), 'utf8')}`
    const answer = await request(url, {
      method,
      headers: { authorization, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, body: text ? JSON.parse(text) : undefined }
  }

  return {
    sandbox,
    call,
    attach: input => sandbox.attach(input),
    detach: input => sandbox.detach(input),
    async nodeState(node) {
      const { namespace, root } = nodeOf(node)
      return { ...(await kernelState(sandbox.machine, namespace)), files: await filesOf(join(root, 'etc')) }
    },
    async nodeConfig(name) {
      const found = await biz.kube.get(nodeConfigs, { namespace: sandboxNamespace, name })
      return found ?? assert.fail(`node config ${name} not found`)
    },
    async openstackConfig(name = 'sandbox') {
      const found = await management.kube.get(openstackConfigs, { namespace: sandboxNamespace, name })
      return found ?? assert.fail(`OpenstackConfig ${name} not found`)
    },
    async addConfig(name, vms, subnets) {
      const vmNames = vms.map(vm => findServer(cloudState, vm).id)
      const subnetIDs = subnets.map(subnet => findSubnet(cloudState, subnet).id)
      const { clusterId } = sandbox
      await createConfig(management.kube, openstackConfigFor(cloudState, { name, vmNames, subnetIDs, clusterId }))
    },
    async inventory(node) {
      const { status, body } = await call(`${urls['inventory']}/v1/inventory/node-configs/${node}`)
      assert.equal(status, 200, JSON.stringify(body))
      return body as InventoryRecord
    },
    async waitUntilReady(within = 60_000) {
      await eventually(
        async () => {
          const status = await sandbox.status()
          assert.ok(status.ready, JSON.stringify(status.nodes, null, 1))
        },
        { within },
      )
    },
    killComponent(name) {
      const pid = sandbox.components.pidOf(name) ?? assert.fail(`${name} does not run`)
      process.kill(pid, 'SIGKILL')
    },
    async stop() {
      await sandbox.stop()
      await stopAndRemove(state)
    },
  }
}

interface Link {
  ifname: string
  address: string
  mtu: number
  flags: string[]
  addr_info: { local: string; prefixlen: number; scope: string }[]
}
interface Rule {
  priority: number
  src: string
  srclen?: number
  iif?: string
  fwmark?: string
  fwmask?: string
  not?: null
  goto?: number
  table?: string
}
type Route = { dst: string; gateway?: string; dev: string; table?: string; type?: string; prefsrc?: string }

async function kernelState(machine: Machine, namespace: string): Promise<Omit<NodeState, 'files'>> {
  const [links, rules, routes] = await Promise.all([
    machine.ipJson<Link>(namespace, ['addr', 'show']),
    machine.ipJson<Rule>(namespace, ['rule', 'show']),
    machine.ipJson<Route>(namespace, ['-4', 'route', 'show', 'table', 'all']),
  ])
  return {
    nics: links
      .filter(link => link.ifname !== 'lo')
      .map(link => ({
        name: link.ifname,
        macAddress: link.address,
        mtu: link.mtu,
        up: link.flags.includes('UP'),
        addresses: link.addr_info.filter(ip => ip.scope !== 'link').map(ip => `${ip.local}/${ip.prefixlen}`),
      }))
      .sort((a, b) => (a.name < b.name ? -1 : 1)),
    rules: rules.map(ruleText),
    routes: routes
      .filter(route => route.table !== 'local')
      .map(route => {
        const via = route.gateway ? ` via ${route.gateway}` : ''
        return `${route.table ?? 'main'}: ${route.dst}${via} dev ${route.dev}`
      })
      .sort(),
  }
}

function ruleText({ priority, src, srclen, iif, fwmark, fwmask, goto, table, ...rest }: Rule): string {
  const selectors = [
    `from ${src}${srclen === undefined ? '' : `/${srclen}`}`,
    iif && `iif ${iif}`,
    fwmark && `fwmark ${fwmark}/${fwmask}`,
  ].filter(Boolean)
  const action = table === undefined ? (goto === undefined ? 'nop' : `goto ${goto}`) : `lookup ${table}`
  return `${priority}: ${'not' in rest ? 'not ' : ''}${selectors.join(' ')} ${action}`
}

async function filesOf(root: string): Promise<Record<string, string>> {
  const files: Record<string, string> = {}
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (!entry.isFile() || path.includes('/backup/')) continue
    const text = await readFile(path, 'utf8').catch(unlessGone)
    if (text !== undefined) files[path.slice(root.length - 'etc'.length)] = text
  }
  return Object.fromEntries(Object.entries(files).sort())
}

/** An agent renames and removes files while they are read. */
function unlessGone(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
