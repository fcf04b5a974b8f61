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
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { startWithDhcp } from './starts.ts'
import type { OpenedFlow } from './testbed.ts'

const layout: Layout = 'two NICs in one subnet and one between them'
/** Milliseconds. */
const maxSilence = 200

interface Scenario {
  /** The node before the flows are opened. */
  start(testbed: NamespaceTestbed): Promise<void> | void
  change(testbed: NamespaceTestbed): Promise<void>
  /** Flows that cannot be opened before the change, and why. */
  without?: Partial<Record<FlowName, string>>
  /** Flows that may be silent longer, because what the change takes away is their own; they must flow again. */
  interrupted?: Partial<Record<FlowName, string>>
  /** Flows that the kernel may end, because it masquerades them to another address; they must not hang. */
  closed?: Partial<Record<FlowName, string>>
}

const run = (testbed: NamespaceTestbed, input: Partial<AgentInput> = requestOf(testbed.node)) =>
  runAgent(testbed.node, input).then(() => {})
const configured = (testbed: NamespaceTestbed) => run(testbed)
/** With a change of the first NIC's request. */
const changed = (testbed: NamespaceTestbed, more: Partial<AgentInput['interfaces'][number]>) =>
  run(
    testbed,
    requestOf(testbed.node, index => (index === 0 ? more : {})),
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
  'the MTU changes': { start: configured, change: testbed => changed(testbed, { mtu: 1450 }) },
  'a route is added': {
    start: configured,
    change(testbed) {
      const [nic] = testbed.node.nics
      const routes = [
        { destination: '::/0', nexthop: nic?.gateway6 ?? '' },
        { destination: '172.20.0.0/16', nexthop: nic?.gateway ?? '' },
      ]
      return changed(testbed, { routes })
    },
  },
  'a second address is added': {
    start: configured,
    change: testbed => changed(testbed, { addresses: [testbed.node.nics[0]?.address6 ?? '', '10.100.0.33/24'] }),
  },
  'two NICs exchange their indexes': {
    start: configured,
    change(testbed) {
      const { interfaces = [], ...input } = requestOf(testbed.node)
      const [first, second, ...rest] = interfaces
      assert.ok(first && second)
      const exchanged = [{ ...second, id: 0, name: 'multinic0' }, { ...first, id: 1, name: 'multinic1' }, ...rest]
      return run(testbed, { ...input, interfaces: exchanged })
    },
  },
  'somebody renames the NIC, and the agent gives it its name back': {
    start: configured,
    async change(testbed) {
      for (const line of ['link set multinic0 down', 'link set multinic0 name renamed0', 'link set renamed0 up'])
        testbed.node.ip(...line.split(' '))
      await run(testbed)
    },
    interrupted: {
      'TCP of the node to N': 'the NIC was down and lost its routes',
      'UDP of the node to N': 'the NIC was down and lost its routes',
      'TCP to a NodePort at A': 'the NIC was down and lost its routes',
      'TCP to A from behind the gateway': 'the NIC was down and lost its routes',
    },
    closed: {
      'TCP of a Pod to N, masqueraded': 'the kernel forgets the masqueraded connections of a NIC that is down',
    },
  },
  'somebody removes the rules and the nft tables, and the agent restores them': {
    start: configured,
    async change(testbed) {
      removeRules(testbed)
      await sleep(100)
      await run(testbed)
    },
    interrupted: {
      'TCP to A from behind the gateway': 'its rules were removed',
      'TCP of the node bound to B by the gateway': 'its rules were removed',
      'TCP to the second NIC of the subnet': 'its rules were removed',
    },
  },
}

suite('flows survive', { concurrency: 2 }, () => {
  for (const [name, scenario] of Object.entries(scenarios))
    test(name, async () => {
      const testbed = await createTestbed(layout)
      try {
        testbed.setFilter('neutron')
        await scenario.start(testbed)
        await eventually(() => assert.doesNotMatch(testbed.node.ip('-6', 'address'), /tentative/))
        const { flows, unopened } = await openFlows(testbed, Object.keys(scenario.without ?? {}))
        for (const { flow } of flows) await flow.state({ restart: true })
        await scenario.change(testbed)
        await sleep(maxSilence * 2)
        const { lines, wrong } = await judge(flows, scenario)
        console.log([`${name}:`, ...lines].join('\n  '))
        assert.deepEqual([...unopened, ...wrong], [])
      } finally {
        await testbed.remove()
      }
    })
})

interface Opened {
  name: string
  family: Family
  flow: OpenedFlow
}

async function openFlows(
  testbed: NamespaceTestbed,
  without: readonly string[],
): Promise<{ flows: Opened[]; unopened: string[] }> {
  const flows: Opened[] = []
  const unopened: string[] = []
  const wanted = Object.entries<NamedFlow>(longFlows).filter(([name]) => !without.includes(name))
  await Promise.all(
    wanted.flatMap(([name, { carrier: _, ...flow }]) =>
      families.map(async family => {
        const opened = await testbed.open({ ...flow, family })
        if (opened.error === undefined) flows.push({ name, family, flow: opened })
        else unopened.push(`${name}, IPv${family}: does not open: ${opened.error}`)
      }),
    ),
  )
  return { flows, unopened }
}

async function judge(flows: readonly Opened[], scenario: Scenario) {
  const interrupted = Object.keys(scenario.interrupted ?? {})
  const mayClose = Object.keys(scenario.closed ?? {})
  const wrong: string[] = []
  const lines: string[] = []
  const past = await Promise.all(
    flows.filter(({ name }) => name === 'TCP past the node').map(({ flow }) => flow.state()),
  )
  // A busy machine silences every flow.
  const limit = maxSilence + Math.max(...past.map(({ silence }) => silence))
  for (const { name, family, flow } of flows) {
    const isBounded = !interrupted.includes(name) && !mayClose.includes(name)
    if (!isBounded) await flowsAgain(flow)
    const { silence, silenceAt, closed, since } = await flow.state()
    const state = `${closed ?? 'open'}, silent for ${silence.toFixed()} ms after ${silenceAt.toFixed()} ms`
    const text = `${name}, IPv${family}: ${state}`
    lines.push(text)
    const isAlive = closed === undefined ? since <= limit : mayClose.includes(name)
    if (!isAlive || (isBounded && silence > limit)) wrong.push(text)
  }
  return { lines: lines.toSorted(), wrong: wrong.toSorted() }
}

/** TCP repeats a segment after up to twice the silence. */
async function flowsAgain(flow: OpenedFlow): Promise<void> {
  await eventually(
    async () => {
      const { since, closed } = await flow.state()
      assert.ok(closed !== undefined || since < maxSilence)
    },
    { within: 15_000 },
  ).catch(() => {})
}

/** All rules but the kernel's, and our nft tables. */
function removeRules({ node }: NamespaceTestbed): void {
  for (const family of ['-4', '-6'])
    for (const line of node.ip('-N', family, 'rule', 'list').split('\n')) {
      const [, priority = '', text = ''] = /^(\d+):\s+(.*)$/.exec(line.trim()) ?? []
      if (Number(priority) > 0 && Number(priority) < 32_766)
        node.ip('-N', family, 'rule', 'del', 'priority', priority, ...text.split(' '))
    }
  const tables = node.exec('nft', 'list', 'tables').split('\n')
  for (const table of tables.filter(line => / multinic$/.test(line))) node.exec('nft', 'delete', ...table.split(' '))
}
