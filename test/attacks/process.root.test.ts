/**
 * Attacks by other processes and by the clock of the node.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { ipWrapper } from '../rigs/host/ip-wrapper.ts'
import { eventually } from '../support/eventually.ts'
import { type Attack, attacks, outcomes, requestAll } from './attack.ts'

/** The wall clock steps back by an hour after a few looks at it. A run that waits for it ends with 99. */
const steppedClock = `const now = Date.now
let looks = 0
Date.now = () => now() - (++looks > 2 ? 3_600_000 : 0)
setTimeout(() => process.exit(99), 120_000).unref()
`
const children: ChildProcess[] = []

const cases: Attack[] = [
  {
    finding: 'F10',
    name: 'a wall clock that steps back hangs no wait',
    options: { nics: 2 },
    prepare: node => {
      writeFileSync(node.path('clock.cjs'), steppedClock)
      node.unplug(1)
    },
    env: node => ({ NODE_OPTIONS: `--require=${node.path('clock.cjs')}`, NIC_WAIT: '1s', NETWORK_PROBE: 'reported' }),
    expect: result => {
      assert.equal(result.code, 0, result.log)
      assert.deepEqual(outcomes(result), ['Configured', 'Pending NicMissing'], result.log)
    },
  },
  {
    finding: 'F12',
    name: 'a default route that vanishes during the run and does not come back with the rollback is reported',
    changesForeign: true,
    env: node => ipWrapper(node, 'case "$lines" in *" name multinic0"*) nth 1 && $real route del default ;; esac'),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed RollbackIncomplete'], result.log)
      assert.deepEqual([result.report?.verdict, result.report?.reason], ['Failed', 'RollbackIncomplete'])
      assert.match(result.report?.message ?? '', /still lost: default route via 10\.0\.0\.1 on ens3/)
      assert.match(node.ip('-o', 'link'), /ens4/)
    },
    cleanup: false,
  },
  {
    finding: 'F21',
    name: 'a NIC gets its former name back although udev made that an altname meanwhile',
    prepare: node => void node.fabricIp('address', 'del', '10.100.0.1/24', 'dev', 'br1'),
    env: node => ({
      NETWORK_PROBE: 'required',
      ...ipWrapper(
        node,
        'case "$lines" in *" name multinic0"*) echo "$lines" | $real "$@"; $real link property add dev multinic0 altname ens4; exit ;; esac',
      ),
    }),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed GatewayUnreachable'], result.log)
      assert.match(node.ip('-o', 'link'), /: ens4@/)
    },
    cleanup: false,
  },
  {
    finding: 'F12',
    name: 'a change that cannot be undone is reported',
    env: node =>
      ipWrapper(
        node,
        `lines=$(echo "$lines" | sed -e 's/^link set dev if[0-9]* name ens4$/link set dev nosuch0 name ens4/' -e 's/^\\(route add .*\\)$/link show dev nosuch0/')`,
      ),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Failed RollbackIncomplete'], result.log)
      assert.match(result.report?.message ?? '', /not rolled back: multinic0: .*rename multinic0 to ens4/)
    },
    cleanup: false,
  },
  {
    finding: 'F12',
    name: 'a killed run that the next one cannot roll back is reported',
    prepare: async node => {
      const killed = await node.agent(
        requestAll(node),
        ipWrapper(node, 'case "$lines" in *" name multinic0"*) echo "$lines" | $real "$@"; kill -9 $PPID ;; esac'),
      )
      assert.equal(killed.report, undefined, killed.log)
    },
    env: node =>
      ipWrapper(
        node,
        `lines=$(echo "$lines" | sed 's/^link set dev if[0-9]* name ens4$/link set dev nosuch0 name ens4/')`,
      ),
    expect: result => {
      assert.deepEqual([result.report?.verdict, result.report?.reason], ['Failed', 'RollbackIncomplete'], result.log)
      assert.match(result.report?.message ?? '', /^not rolled back: multinic0: .*rename multinic0 to ens4/)
    },
    cleanup: false,
  },
  {
    finding: 'F17',
    name: 'a process without root that binds any abstract socket does not delay the agent',
    prepare: async node => {
      const program = `require('net').createServer().listen('\\0multinic-agent', () => console.log('locked'))`
      const args = ['setpriv', '--reuid=1000', '--regid=1000', '--clear-groups', process.execPath, '-e', program]
      const child = spawn('nsenter', [`--net=/run/netns/${node.namespace}`, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
        cwd: '/',
      })
      children.push(child)
      let text = ''
      child.stdout.on('data', chunk => (text += chunk))
      await eventually(() => assert.match(text, /locked/), { within: 20_000 })
    },
    expect: result => {
      assert.deepEqual(outcomes(result), ['Configured'], result.log)
      assert.ok((result.report?.timings.total ?? 0) < 15_000, result.log)
    },
  },
]

attacks('processes and clocks', cases, () => {
  for (const child of children) child.kill()
})
