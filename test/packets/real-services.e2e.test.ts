/**
 * The rows of Services with real parts: kube-proxy in both modes against a real API server, and the CNI plugins bridge and
 * portmap, on a node that the real agent configured, with port security on every port.
 *
 * Prints a line for each case with what it saw.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { addToNetwork } from '../rigs/cni/chain.ts'
import { cniPlugins } from '../rigs/cni/rig.ts'
import { binary } from '../rigs/kubernetes/binaries.ts'
import {
  type ControlPlane,
  type ProxyMode,
  proxyConfig,
  proxyKubeconfig,
  startControlPlane,
} from '../rigs/kubernetes/rig.ts'
import { type Daemon, run, startDaemon, waitForAnswer } from '../rigs/process.ts'
import { type Family, families, type Layout } from './addresses.ts'
import { configure, requestOf, runAgent } from './configure.ts'
import { isPossible } from './expectations.ts'
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { batch } from './namespaces.ts'
import type { Case } from './pairwise.ts'
import { ports } from './ports.ts'
import {
  clusterCIDR,
  clusterObjects,
  nodeName,
  nodeObject,
  podNetwork,
  realRows,
  serviceRanges,
} from './real-workloads.ts'
import { reportResults, rowOf, runCases } from './run-cases.ts'
import { withoutChains } from './sabotage.ts'

/** And whether kube-proxy starts before the agent runs, as on a node that gets its first NICs. */
const nodes: readonly { layout: Layout; proxyFirst: boolean }[] = [
  { layout: 'two NICs in one subnet and one between them', proxyFirst: true },
  { layout: "a NIC in the primary's subnet", proxyFirst: false },
]
const everyAddress = ['0.0.0.0/0', '::/0']
/** The bridge of the control plane has it free. */
const uplink = { name: 'uplink', address: '10.88.0.250' }

let cp: ControlPlane
let kubeconfig: string
let plugins: string

before(async () => {
  plugins = await cniPlugins()
  cp = await startControlPlane({ apiserverFlags: [`--service-cluster-ip-range=${serviceRanges}`] })
  kubeconfig = await proxyKubeconfig(cp)
  const node = nodeObject()
  const { objects, status } = clusterObjects()
  const items = [node.object, ...objects]
  await cp.exec('kubectl', ['create', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
  })
  const statuses = { [`node/${nodeName}`]: node.status, ...prefixed('service/', status) }
  for (const [name, patch] of Object.entries(statuses))
    await cp.exec('kubectl', ['patch', name, '--subresource=status', '--type=merge', '-p', JSON.stringify(patch)])
})
after(() => cp?.close())

const prefixed = (prefix: string, values: Record<string, object>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}${name}`, value]))

for (const mode of ['iptables', 'nftables'] as const)
  for (const { layout, proxyFirst } of nodes)
    test(`kube-proxy with ${mode}, ${layout}: Services answer by the NIC that the request came in by`, () =>
      withNode(layout, mode, async (testbed, startProxy) => {
        const steps = [() => configure(testbed), () => startProxy(everyAddress)]
        for (const step of proxyFirst ? steps.toReversed() : steps) await step()
        const cases = casesOf(layout)
        reportResults(await runCases(testbed, cases, undefined, realRows))
        const check = await testbed.node.agent({ ...requestOf(testbed.node), mode: 'check' })
        assert.equal(check.report?.verdict, 'InSync', check.log)

        // Every reply to a client behind the gateway of a NIC needs the agent's nft tables.
        const far = cases.filter(({ row }) => row.startsWith('a client behind the gateway'))
        withoutChains()(testbed)
        const without = await runCases(testbed, far, () => true, realRows)
        assert.deepEqual(
          without.filter(({ seen }) => !seen.startsWith('lost, ')),
          [],
        )
        await runAgent(testbed.node, requestOf(testbed.node))
        reportResults(await runCases(testbed, far, undefined, realRows))
      }))

test('kube-proxy with nftables and its default setting: a NodePort has no answer at the address of a NIC', () =>
  withNode('one NIC', 'nftables', async (testbed, startProxy) => {
    await startProxy()
    await configure(testbed)
    const rows = ['a client on link reaches a NodePort Local at A', 'a far client reaches a NodePort Local at P']
    const results = await runCases(testbed, casesOf('one NIC', rows), ({ row }) => row === rows[0], realRows)
    assert.deepEqual(
      results.map(({ seen }) => seen),
      ['lost, by multinic0', 'lost, by multinic0', 'from far by ens3', 'from far by ens3'],
    )
  }))

function casesOf(layout: Layout, rows = Object.keys(realRows)): Case[] {
  return rows
    .filter(row => isPossible(rowOf(row, realRows), layout))
    .flatMap(row => families.map(family => ({ row, layout, filter: 'neutron' as const, vpn: 'none' as const, family })))
}

/** Its kube-proxy reaches the API server by the primary NIC and the router of the fabric. */
async function withNode(
  layout: Layout,
  mode: ProxyMode,
  work: (
    testbed: NamespaceTestbed,
    startProxy: (nodePortAddresses?: readonly string[]) => Promise<void>,
  ) => Promise<void>,
): Promise<void> {
  const testbed = await createTestbed(layout, async ({ node, pod }) => {
    batch(pod, ['link set lo up'])
    await addToNetwork({ plugins, node, pod, config: podNetwork(mode) })
  })
  let proxy: Daemon | undefined
  try {
    testbed.setFilter('neutron')
    await connect(testbed.node.fabric)
    await work(testbed, async nodePortAddresses => {
      proxy = await startProxy(testbed, mode, nodePortAddresses)
    })
  } finally {
    await proxy?.stop('SIGKILL')
    await run('ip', ['link', 'delete', uplink.name], { check: false })
    await testbed.remove()
  }
}

async function connect(fabric: string): Promise<void> {
  await run('ip', ['link', 'add', uplink.name, 'type', 'veth', 'peer', 'name', 'kube', 'netns', fabric])
  await run('ip', ['link', 'set', uplink.name, 'master', 'mnbr0', 'up'])
  batch(fabric, [`address add ${uplink.address}/24 dev kube`, 'link set kube up'])
  await run('ip', ['route', 'replace', '10.0.0.0/24', 'via', uplink.address])
}

async function startProxy(
  { node }: NamespaceTestbed,
  mode: ProxyMode,
  nodePortAddresses: readonly string[] | undefined,
): Promise<Daemon> {
  const config = join(cp.dir, `kube-proxy-${mode}.json`)
  const options = { name: nodeName, kubeconfig, mode, clusterCIDR, ...(nodePortAddresses && { nodePortAddresses }) }
  await writeFile(config, JSON.stringify(proxyConfig(options)))
  const command = [`--net=/run/netns/${node.namespace}`, binary('kube-proxy'), `--config=${config}`]
  const proxy = startDaemon('nsenter', command, { log: join(cp.dir, `kube-proxy-${mode}.log`) })
  await waitForAnswer(`kube-proxy with ${mode}`, proxy, async () => {
    for (const family of families) {
      const [program, ...args] = listRules(mode, family)
      const rules = await node.execute(program, ...args)
      assert.match(rules, new RegExp(`\\b${ports['NodePort, hostNetwork endpoint']}\\b`))
    }
  })
  return proxy
}

function listRules(mode: ProxyMode, family: Family): [string, ...string[]] {
  const isFour = family === 4
  if (mode === 'nftables') return ['nft', 'list', 'table', isFour ? 'ip' : 'ip6', 'kube-proxy']
  return [isFour ? 'iptables-save' : 'ip6tables-save', '-t', 'nat']
}
