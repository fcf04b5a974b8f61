/**
 * Attacks on observation: a read that fails once changes nothing, and the next run goes on.
 */
import assert from 'node:assert/strict'
import { chownSync, cpSync, existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import type { AgentInput } from '../../src/contract/agent-input.ts'
import { ipWrapper } from '../rigs/host/ip-wrapper.ts'
import { type AgentResult, type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, outcomes } from './attack.ts'

const dualStack = (node: RigNode): Partial<AgentInput> => ({
  interfaces: node.nics.map((nic, index) => requestedInterface(nic, index, { addresses: [nic.address6] })),
})

/** Everything that the kernel knows of the NICs. */
const stateOf = (node: RigNode) =>
  ['-4 rule', '-6 rule', 'route show table 100', '-6 route show table 100', '-o link', '-o -4 address'].map(command =>
    node.ip(...command.split(' ')),
  )

const configure = async (node: RigNode) => {
  const result = await node.agent(dualStack(node))
  assert.equal(result.report?.verdict, 'Configured', result.log)
}

/** In the batch that contains the line, the nth time, the line fails, or prints nothing. */
const reads: Record<string, string> = {
  'links and addresses': 'address show',
  routes: 'route show table all',
  'IPv4 rules': 'rule list',
}
const ways = { fails: 'link show dev nosuch0', 'prints nothing': '' }

const brokenRun = async (result: AgentResult, node: RigNode) => {
  assert.deepEqual([result.code, result.report], [75, undefined], result.log)
  assert.match(result.log, /cannot read/)
  const next = await node.agent(dualStack(node))
  assert.deepEqual(outcomes(next), ['Configured'], next.log)
}

const broken = (name: string, script: string, finding = 'F5'): Attack[] => {
  const states = new Map<RigNode, string[]>()
  return [
    {
      finding,
      name: `${name}, on a configured node`,
      prepare: async node => {
        await configure(node)
        states.set(node, stateOf(node))
      },
      request: dualStack,
      env: node => ipWrapper(node, script.replace('$nth', '1')),
      expect: async (result, node) => {
        assert.deepEqual(stateOf(node), states.get(node), result.log)
        await brokenRun(result, node)
        assert.deepEqual(stateOf(node), states.get(node))
      },
    },
    {
      finding,
      name: `${name}, after the changes were made`,
      request: dualStack,
      env: node => ipWrapper(node, script.replace('$nth', '2')),
      expect: brokenRun,
    },
  ]
}

const cases: Attack[] = [
  ...Object.entries(reads).flatMap(([what, line]) =>
    Object.entries(ways).flatMap(([how, command]) =>
      broken(
        `the read of ${what} ${how} once`,
        `case "$lines" in "address show"*) nth $nth && lines=$(echo "$lines" | sed 's/^${line}$/${command}/') ;; esac`,
        what === 'routes' ? 'F5, L5' : 'F5',
      ),
    ),
  ),
  ...broken('the read of IPv6 rules fails once', 'case "$*" in *-6*-j*) nth $nth && exit 2 ;; esac'),
  ...broken('the read of IPv6 rules prints nothing once', 'case "$*" in *-6*-j*) nth $nth && exit 0 ;; esac'),
  {
    finding: 'F5',
    name: 'an interrupted dump is read again',
    prepare: configure,
    request: dualStack,
    env: node =>
      ipWrapper(
        node,
        'case "$lines" in "address show"*) nth 1 && { echo "Dump was interrupted and may be inconsistent." >&2; echo "[]"; echo "[]"; echo "$lines" | $real "$@"; exit; } ;; esac',
      ),
    expect: result => assert.deepEqual([outcomes(result), result.report?.changed], [['Configured'], 0], result.log),
  },
  {
    finding: 'F5',
    name: 'while the route to the API server cannot be read, the NIC that carries it is not taken',
    prepare: node => {
      node.ip('link', 'set', 'ens4', 'up')
      node.ip('route', 'add', '10.9.9.9', 'dev', 'ens4')
    },
    ours: () => [],
    env: node => ({
      KUBERNETES_SERVICE_HOST: '10.9.9.9',
      PREFLIGHT_ALLOW_UP: 'true',
      ...ipWrapper(
        node,
        `case "$lines" in *"route get"*) nth 1 && lines=$(echo "$lines" | sed 's/^route get.*/link show dev nosuch0/') ;; esac`,
      ),
    }),
    expect: async (result, node) => {
      assert.deepEqual([result.code, result.report], [75, undefined], result.log)
      const next = await node.agent(
        { interfaces: node.nics.map((nic, index) => requestedInterface(nic, index)) },
        { KUBERNETES_SERVICE_HOST: '10.9.9.9', PREFLIGHT_ALLOW_UP: 'true' },
      )
      assert.deepEqual(outcomes(next), ['Failed CarriesApiServerRoute'], next.log)
    },
  },
  {
    finding: 'F5',
    name: 'an API server without a route is no obstacle',
    prepare: node => void node.ip('route', 'del', 'default'),
    env: { KUBERNETES_SERVICE_HOST: '192.0.2.1' },
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'F5',
    name: 'an address whose owner cannot be read from the neighbours is not taken',
    prepare: node => void node.fabricIp('address', 'add', '10.100.0.10/24', 'dev', 'br1'),
    env: node => ipWrapper(node, 'case "$*" in *-batch*) [ "$lines" = "neigh show" ] && exit 2 ;; esac'),
    expect: async (result, node) => {
      assert.doesNotMatch(node.ip('-o', 'address'), /10\.100\.0\.10/)
      assert.deepEqual([result.code, result.report], [75, undefined], result.log)
    },
  },
  {
    finding: 'F5',
    name: 'a bus that does not answer may hide NetworkManager, so nothing changes',
    prepare: node => {
      mkdirSync(node.path('etc/NetworkManager/system-connections'), { recursive: true })
      mkdirSync(node.path('run/dbus'), { recursive: true })
      writeFileSync(node.path('run/dbus/system_bus_socket'), '')
    },
    ours: () => [],
    expect: result => assert.deepEqual([result.code, result.report], [75, undefined], result.log),
  },
  {
    finding: 'F5',
    name: 'a sysctl that cannot be read stops the run',
    prepare: node => {
      rmSync(node.path('host/proc/sys/net/ipv4'))
      const conf = node.path('host/proc/sys/net/ipv4/conf')
      mkdirSync(conf, { recursive: true })
      for (const [from, to] of [
        ['all', 'all'],
        ['lo', 'ens4'],
      ])
        cpSync(`/proc/sys/net/ipv4/conf/${from}`, `${conf}/${to}`, { recursive: true })
      rmSync(`${conf}/ens4/rp_filter`)
    },
    ours: () => [],
    expect: result => {
      assert.deepEqual([result.code, result.report], [75, undefined], result.log)
      assert.match(result.log, /cannot read .*rp_filter/)
    },
  },
  ...['packet', 'udp', 'udp6'].map(
    (list): Attack => ({
      finding: 'F5',
      name: `without the list of ${list} sockets a DHCP client may be hidden, so nothing changes`,
      prepare: node => {
        node.ip('link', 'set', 'ens4', 'up')
        const directory = node.path('proc/self/net')
        rmSync(directory)
        mkdirSync(directory)
        for (const name of ['packet', 'udp', 'udp6']) if (name !== list) writeFileSync(`${directory}/${name}`, 'sl\n')
      },
      ours: () => [],
      expect: result => {
        assert.deepEqual([result.code, result.report], [75, undefined], result.log)
        assert.match(result.log, new RegExp(`cannot read \\S*/proc/self/net/${list}: no such file`))
      },
    }),
  ),
  {
    finding: 'F5',
    name: 'a journal that cannot be read is kept, and nothing changes',
    prepare: node => {
      const journal = node.path('var/lib/multinic/journal')
      mkdirSync(journal)
      writeFileSync(`${journal}/0001.json`, '{}', { mode: 0 })
      chownSync(`${journal}/0001.json`, 1000, 1000)
    },
    ours: () => [],
    expect: (result, node) => {
      const { reason, changed, interfaces: [nic] = [] } = result.report ?? assert.fail(result.log)
      assert.deepEqual([reason, changed, nic?.reason], ['StateUnreadable', 0, 'StateUnreadable'], result.log)
      assert.match(nic?.message ?? '', /journal\/0001\.json cannot be read$/)
      const places = ['journal', 'journal-unread'].map(name => node.path(`var/lib/multinic/${name}/0001.json`))
      assert.equal(places.filter(existsSync).length, 1)
    },
    cleanup: false,
  },
]

attacks('reads', cases)
