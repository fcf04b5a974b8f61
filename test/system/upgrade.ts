/**
 * The in-place upgrade: our components adopt a node of a cluster that ran the Go implementation. Its NICs, files, objects and
 * Jobs have the form that the Go implementation created.
 */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { findSubnet } from '../../sandbox/cloud/state.ts'
import { ipBatch, ipJson } from '../../sandbox/exec.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { nodeConfigs } from '../../src/contract/node-config.ts'
import { jobs } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import { goConfig, goStatus } from './go-crd.ts'
import { startPing } from './ping.ts'
import type { TestSandbox } from './sandbox.fixture.ts'

interface OldNic {
  id: number
  name: string
  macAddress: string
  address: string
  cidr: string
  gateway: string
  mtu: number
}

const within = 60_000
/** Interface indexes in the order of the Go operator (by MAC address), not in ours. */
const indexes = { storage: 1, backup: 0 } as const

export function testUpgrade(system: () => TestSandbox, node: string): void {
  let nics: OldNic[]
  const target = () => system().sandbox.nodes.get(node) ?? assert.fail(`node ${node} not found`)
  const devices = async () => {
    const links = await ipJson<{ ifname: string; ifindex: number; address: string }>(target().namespace, [
      'link',
      'show',
    ])
    return links.map(({ ifname, ifindex, address }) => `${ifindex} ${ifname} ${address}`)
  }

  async function duringPings(work: () => Promise<void>): Promise<void> {
    const before = await devices()
    const pings = await Promise.all(nics.map(nic => startPing(target().namespace, nic.address, nic.gateway)))
    try {
      await work()
    } finally {
      for (const { sent, received } of await Promise.all(pings.map(ping => ping.stop()))) assert.equal(received, sent)
    }
    assert.deepEqual(await devices(), before, 'a NIC was renamed or recreated')
  }

  test('a node of the Go implementation is adopted in place: no NIC changes, and its old Jobs are deleted', async () => {
    const { kube } = system().sandbox.biz
    nics = await attachPorts(system(), node)
    await configureLikeGo(target().namespace, target().root, nics)
    const old = await createOldJob(system(), node)
    await duringPings(async () => {
      const version = 'v1alpha1'
      const key = { namespace, name: node }
      // The Viola of the Go implementation used kubectl.
      const config = goConfig(node, namespace, target().server.id, system().sandbox.clusterId, nics)
      await kube.apply({ ...nodeConfigs, version }, config, { fieldManager: 'kubectl-client-side-apply' })
      await kube.patchStatus({ ...nodeConfigs, version }, key, goStatus(nics, old))
      await eventually(
        async () => {
          const { status } = await system().nodeConfig(node)
          assert.equal(`${status?.state} ${status?.nics} ${status?.bootID}`, `Configured 2/2 ${target().bootID}`)
        },
        { within },
      )
    })
    await eventually(async () => assert.equal(await kube.get(jobs, { namespace, name: old }), undefined), { within })
    const { rules, files } = await system().nodeState(node)
    for (const { id, name, address, macAddress } of nics) {
      assert.ok(!rules.some(rule => rule.includes(`from ${address} `)), 'the old rule still exists')
      assert.ok(
        rules.some(rule => rule.startsWith(`${10_070 + id}: from ${address.replace(/\.\d+$/, '.0/24')} `)),
        'the new rule is missing',
      )
      assert.match(files[`etc/netplan/9${id}-${name}.yaml`] ?? '', new RegExp(macAddress))
    }
  })

  test('the operator adds the port IDs, and every MAC address keeps its index', async () => {
    await duringPings(async () => {
      await system().addConfig('upgraded', [node], Object.keys(indexes))
      await eventually(
        async () => {
          const { spec, status, metadata } = await system().nodeConfig(node)
          assert.equal(status?.observedGeneration, metadata.generation)
          assert.equal(status?.state, 'Configured')
          const details = JSON.stringify((await system().openstackConfig('upgraded')).status)
          assert.ok(
            spec.interfaces.every(({ portId }) => portId),
            details,
          )
          assert.deepEqual(
            spec.interfaces.map(nic => `${nic.name} ${nic.macAddress}`),
            nics.map(nic => `${nic.name} ${nic.macAddress}`),
          )
        },
        { within },
      )
    })
  })
}

async function attachPorts(system: TestSandbox, node: string): Promise<OldNic[]> {
  const { cloudState, nodes } = system.sandbox
  const nics = Object.entries(indexes).map(([subnet, id]) => {
    const { cidr, gatewayIp, networkId } = findSubnet(cloudState, subnet)
    const [port] = system.attach({ vm: node, subnet })
    const address = port?.fixedIps[0]?.ipAddress
    assert.ok(port && address && gatewayIp)
    const mtu = cloudState.networks.get(networkId)?.mtu ?? 1500
    return { id, name: `multinic${id}`, macAddress: port.macAddress, address, cidr, gateway: gatewayIp, mtu }
  })
  await nodes.get(node)?.syncNics()
  return nics.sort((a, b) => a.id - b.id)
}

/** Like the Go agent: rules without priority, numbered tables, a netplan file whose rule has the prefix of the subnet. */
async function configureLikeGo(netns: string, root: string, nics: OldNic[]): Promise<void> {
  const links = await ipJson<{ ifname: string; address: string }>(netns, ['link', 'show'])
  for (const { id, name, macAddress, address, cidr, mtu } of nics) {
    const found =
      links.find(link => link.address === macAddress) ?? assert.fail(`no link with MAC address ${macAddress}`)
    const [table, prefix] = [100 + id, cidr.split('/')[1]]
    await ipBatch(netns, [
      `link set ${found.ifname} name ${name}`,
      `link set ${name} mtu ${mtu}`,
      `address replace ${address}/${prefix} dev ${name} noprefixroute`,
      `link set ${name} up`,
      `rule add from ${address}/32 table ${table}`,
      `route replace ${cidr} dev ${name} table ${table} metric ${table} src ${address}`,
    ])
    const text = `network:
  ethernets:
    ${name}:
      addresses:
      - ${address}/${prefix}
      dhcp4: false
      match:
        macaddress: ${macAddress}
      mtu: ${mtu}
      routes:
      - metric: ${table}
        table: ${table}
        to: ${cidr}
      routing-policy:
      - from: ${address}/${prefix}
        table: ${table}
      set-name: ${name}
  version: 2
`
    await writeFile(join(root, `etc/netplan/9${id}-${name}.yaml`), text, { mode: 0o600 })
  }
}

/** A finished Job with the labels of the Go controller and without TTL. */
async function createOldJob(system: TestSandbox, node: string): Promise<string> {
  const { kube } = system.sandbox.biz
  const name = `multinic-agent-${node}-g1`
  const labels = {
    'app.kubernetes.io/name': 'multinic-agent',
    'app.kubernetes.io/managed-by': 'multinic-controller',
    'multinic.io/node-name': node,
    'multinic.io/action': 'apply',
  }
  const template = {
    metadata: { labels: { 'app.kubernetes.io/name': 'multinic-agent' } },
    spec: {
      restartPolicy: 'OnFailure' as const,
      containers: [{ name: 'multinic-agent', image: 'multinic-agent:1.0.0' }],
    },
  }
  await kube.create(jobs, {
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name, namespace, labels } },
    spec: { suspend: true, backoffLimit: 1, template },
  })
  const at = '2026-01-01T00:00:00Z'
  await kube.patchStatus(
    jobs,
    { namespace, name },
    { succeeded: 1, completionTime: at, conditions: [{ type: 'Complete', status: 'True', lastTransitionTime: at }] },
  )
  return name
}
