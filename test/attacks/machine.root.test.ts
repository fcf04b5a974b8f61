/**
 * Attacks by the machine: a kernel without IPv6, and hardware without DMI.
 */
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { ipWrapper } from '../rigs/host/ip-wrapper.ts'
import { type RigNode, requestedInterface } from '../rigs/host/node.ts'
import { type Attack, attacks, configureAll, outcomes, requestAll } from './attack.ts'

/** The answer of such a kernel to every IPv6 request. */
const withoutIPv6 = (node: RigNode) =>
  ipWrapper(
    node,
    'case "$*" in -6*) echo "RTNETLINK answers: Address family not supported by protocol" >&2; exit 2 ;; esac',
  )
/** The answers of a kernel that has no rules of a family. Like the real program, it leaves a bracket before the next list. */
const withoutPolicyRouting = (node: RigNode, family: 4 | 6) =>
  ipWrapper(
    node,
    `case "$* $lines" in ${family === 6 ? '-6' : '-N'}*"rule list"*)
      lists=$(echo "$lines" | sed 's/^rule list$/link show dev none/' | $real "$@" 2>"$0.errors"); code=$?
      printf '%s\n' "$lists" | sed '${family === 6 ? 1 : 3}s/^/[/'
      sed 's/^Device.*/RTNETLINK answers: Address family not supported by protocol\\nDump terminated/' "$0.errors" >&2
      exit $code ;;
    esac`,
  )
/** networkd 247 and NetworkManager 1.30 do not mark the rules that they add at boot. */
async function configureWithUnmarkedRules(node: RigNode): Promise<void> {
  await configureAll(node)
  for (const line of node
    .ip('-N', 'rule', 'list')
    .split('\n')
    .filter(text => text.includes('proto 4'))) {
    const [priority = '', ...selectors] = line
      .replace('proto 4', '')
      .split(/:?\s+/)
      .filter(word => word !== '')
    node.ip('rule', 'del', 'priority', priority, ...selectors)
    node.ip('rule', 'add', 'priority', priority, ...selectors, 'protocol', '0')
  }
}
const instanceId = '11111111-2222-3333-4444-555555555555'
const withoutDmi = (node: RigNode) => rmSync(node.path('sys/class/dmi'), { recursive: true })

const cases: Attack[] = [
  {
    finding: 'F14',
    name: 'a kernel without IPv6 gets its IPv4 NICs, and IPv6 addresses are refused',
    options: { nics: 2, ipv6: false },
    env: withoutIPv6,
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, index === 1 ? { addresses: [nic.address6] } : {}),
      ),
    }),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Configured', 'Failed IPv6Disabled'], result.log)
      assert.match(result.report?.interfaces[1]?.message ?? '', /cannot configure fd00:1::10\/64: the kernel/)
    },
  },
  {
    finding: 'case 8',
    name: 'a kernel without policy routing is refused with the option that it needs',
    env: node => withoutPolicyRouting(node, 4),
    expect: (result, node) => {
      assert.deepEqual(outcomes(result), ['Failed PolicyRoutingUnavailable'], result.log)
      const message = `cannot configure ${node.nics[0]?.address}/24: the kernel of this node has no policy routing (CONFIG_IP_MULTIPLE_TABLES)`
      assert.equal(result.report?.interfaces[0]?.message, message)
    },
  },
  {
    finding: 'case 8',
    name: 'a kernel without policy routing is enough if policy routing is off',
    env: node => ({ ...withoutPolicyRouting(node, 4), NETWORK_POLICY_ROUTING_ENABLED: 'false' }),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'case 8',
    name: 'a kernel without policy routing for IPv6 gets its IPv4 NICs, and IPv6 addresses are refused',
    options: { nics: 2 },
    env: node => withoutPolicyRouting(node, 6),
    request: node => ({
      interfaces: node.nics.map((nic, index) =>
        requestedInterface(nic, index, index === 1 ? { addresses: [nic.address6] } : {}),
      ),
    }),
    expect: result => {
      assert.deepEqual(outcomes(result), ['Configured', 'Failed PolicyRoutingUnavailable'], result.log)
      assert.match(
        result.report?.interfaces[1]?.message ?? '',
        /cannot configure fd00:1::10\/64: .* \(CONFIG_IPV6_MULTIPLE_TABLES\)/,
      )
    },
  },
  {
    finding: 'F19',
    name: 'rules that networkd or NetworkManager of Debian 11 added stay, and a cleanup removes them',
    prepare: configureWithUnmarkedRules,
    expect: async (result, node) => {
      assert.deepEqual([outcomes(result), result.report?.changed], [['Configured'], 0], result.log)
      const removed = await node.agent({ mode: 'cleanup', interfaces: [] })
      assert.match(node.ip('-N', 'rule', 'list'), /^0:[^\n]*\n32766:[^\n]*\n32767:[^\n]*\n$/, removed.log)
    },
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI is identified by the boot ID that its Node reported',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId, bootID: 'boot-1' }),
    expect: result => assert.deepEqual(outcomes(result), ['Configured'], result.log),
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI and with another boot ID is not changed',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId, bootID: 'boot-of-another-machine' }),
    expect: result => assert.equal(result.report?.reason, 'WrongMachine', result.log),
  },
  {
    finding: 'DMI',
    name: 'a machine without DMI is not changed for a controller that does not send the boot ID',
    prepare: withoutDmi,
    request: node => ({ ...requestAll(node), instanceId }),
    expect: result => assert.equal(result.report?.reason, 'WrongMachine', result.log),
  },
]

attacks('machine', cases)
