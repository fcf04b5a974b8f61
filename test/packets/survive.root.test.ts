/**
 * Flows that survive: none is closed, and none is silent for more than 200 ms, except those that are named with their reason.
 *
 * Each flow sends every 15 ms. Prints the longest silence of each.
 */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { eventually } from '../support/eventually.ts'
import { type Family, families, type Layout } from './addresses.ts'
import { requestOf, runAgent } from './configure.ts'
import { type FlowName, longFlows, type NamedFlow } from './long-flows.ts'
import { createWorld, type NamespaceWorld } from './namespace-world.ts'
import { startWithDhcp, startWithSourceRules } from './starts.ts'
import type { OpenedFlow } from './world.ts'

const layout: Layout = 'two NICs in one subnet and one between them'
/** Milliseconds. */
const longestSilence = 200

interface Scenario {
  /** The node before the flows are opened. */
  start(world: NamespaceWorld): Promise<void> | void
  change(world: NamespaceWorld): Promise<void>
  /** Flows that cannot be opened before the change, and why. */
  without?: Partial<Record<FlowName, string>>
  /** Flows that may be silent longer, because what the change takes away is their own; they must flow again. */
  interrupted?: Partial<Record<FlowName, string>>
}

const run = (world: NamespaceWorld, input: Partial<AgentInput> = requestOf(world.node)) =>
  runAgent(world.node, input).then(() => {})
const configured = (world: NamespaceWorld) => run(world)
/** With a change of the first NIC's request. */
const changed = (world: NamespaceWorld, more: Partial<AgentInput['interfaces'][number]>) =>
  run(
    world,
    requestOf(world.node, index => (index === 0 ? more : {})),
  )
const plain = 'an ordinary NIC answers from the wrong port, which drops the packet'

const scenarios: Record<string, Scenario> = {
  'the agent takes over NICs that DHCP configured': {
    start: startWithDhcp,
    change: configured,
    without: {
      'TCP to A from behind the gateway': plain,
      'TCP of the node bound to B by the gateway': plain,
      'TCP to the second NIC of the subnet': plain,
    },
  },
  'the MTU changes': { start: configured, change: world => changed(world, { mtu: 1450 }) },
  'a route is added': {
    start: configured,
    change(world) {
      const [nic] = world.node.nics
      const routes = [
        { destination: '::/0', nexthop: nic?.gateway6 ?? '' },
        { destination: '172.20.0.0/16', nexthop: nic?.gateway ?? '' },
      ]
      return changed(world, { routes })
    },
  },
  'a second address is added': {
    start: configured,
    change: world => changed(world, { addresses: [world.node.nics[0]?.address6 ?? '', '10.100.0.33/24'] }),
  },
  'two NICs exchange their numbers': {
    start: configured,
    change(world) {
      const { interfaces = [], ...input } = requestOf(world.node)
      const [first, second, ...rest] = interfaces
      assert.ok(first && second)
      const exchanged = [{ ...second, id: 0, name: 'multinic0' }, { ...first, id: 1, name: 'multinic1' }, ...rest]
      return run(world, { ...input, interfaces: exchanged })
    },
  },
  'somebody renames the NIC, and the agent gives it its name back': {
    start: configured,
    async change(world) {
      for (const line of ['link set multinic0 down', 'link set multinic0 name renamed0', 'link set renamed0 up'])
        world.node.ip(...line.split(' '))
      await run(world)
    },
    interrupted: {
      'TCP of the node to N': 'the NIC was down and lost its routes',
      'UDP of the node to N': 'the NIC was down and lost its routes',
      'TCP of a Pod to N, masqueraded': 'the NIC was down and lost its routes',
      'TCP to a NodePort at A': 'the NIC was down and lost its routes',
      'TCP to A from behind the gateway': 'the NIC was down and lost its routes',
    },
  },
  'somebody removes the rules and the nft tables, and the agent restores them': {
    start: configured,
    async change(world) {
      removeRules(world)
      await sleep(100)
      await run(world)
    },
    interrupted: {
      'TCP to A from behind the gateway': 'its rules were removed',
      'TCP of the node bound to B by the gateway': 'its rules were removed',
      'TCP to the second NIC of the subnet': 'its rules were removed',
    },
  },
  'an older agent set rules for its own addresses only': {
    start: world => void startWithSourceRules(world),
    change: configured,
    without: { 'TCP to a NodePort at A': 'the older rules do not answer it' },
  },
}

suite('flows survive', { concurrency: 2 }, () => {
  for (const [name, scenario] of Object.entries(scenarios))
    test(name, async () => {
      const world = await createWorld(layout)
      try {
        world.setFilter('neutron')
        await scenario.start(world)
        await eventually(() => assert.doesNotMatch(world.node.ip('-6', 'address'), /tentative/))
        const { flows, unopened } = await openFlows(world, Object.keys(scenario.without ?? {}))
        for (const { flow } of flows) await flow.state({ restart: true })
        await scenario.change(world)
        await sleep(longestSilence * 2)
        const { lines, wrong } = await judge(flows, Object.keys(scenario.interrupted ?? {}))
        console.log([`${name}:`, ...lines].join('\n  '))
        assert.deepEqual([...unopened, ...wrong], [])
      } finally {
        await world.remove()
      }
    })
})

interface Opened {
  name: string
  family: Family
  flow: OpenedFlow
}

async function openFlows(
  world: NamespaceWorld,
  without: readonly string[],
): Promise<{ flows: Opened[]; unopened: string[] }> {
  const flows: Opened[] = []
  const unopened: string[] = []
  const wanted = Object.entries<NamedFlow>(longFlows).filter(([name]) => !without.includes(name))
  await Promise.all(
    wanted.flatMap(([name, { carrier: _, ...flow }]) =>
      families.map(async family => {
        const opened = await world.open({ ...flow, family })
        if (opened.error === undefined) flows.push({ name, family, flow: opened })
        else unopened.push(`${name}, IPv${family}: does not open: ${opened.error}`)
      }),
    ),
  )
  return { flows, unopened }
}

async function judge(flows: readonly Opened[], interrupted: readonly string[]) {
  const wrong: string[] = []
  const lines: string[] = []
  for (const { name, family, flow } of flows) {
    const title = `${name}, IPv${family}`
    if (interrupted.includes(name)) await flowsAgain(flow)
    const { silence, silenceAt, closed, since } = await flow.state()
    const text = `${title}: ${closed ?? 'open'}, silent for ${silence.toFixed()} ms after ${silenceAt.toFixed()} ms`
    lines.push(text)
    const isBounded = !interrupted.includes(name)
    if (closed !== undefined || since > longestSilence || (isBounded && silence > longestSilence)) wrong.push(text)
  }
  return { lines, wrong }
}

/** TCP repeats a segment after up to twice the silence. */
async function flowsAgain(flow: OpenedFlow): Promise<void> {
  await eventually(
    async () => {
      const { since, closed } = await flow.state()
      assert.ok(closed !== undefined || since < longestSilence)
    },
    { within: 15_000 },
  ).catch(() => {})
}

/** All rules but the kernel's, and our nft tables. */
function removeRules({ node }: NamespaceWorld): void {
  for (const family of ['-4', '-6'])
    for (const line of node.ip('-N', family, 'rule', 'list').split('\n')) {
      const [, priority = '', text = ''] = /^(\d+):\s+(.*)$/.exec(line.trim()) ?? []
      if (Number(priority) > 0 && Number(priority) < 32_766)
        node.ip('-N', family, 'rule', 'del', 'priority', priority, ...text.split(' '))
    }
  const tables = node.exec('nft', 'list', 'tables').split('\n')
  for (const table of tables.filter(line => / multinic$/.test(line))) node.exec('nft', 'delete', ...table.split(' '))
}
