/**
 * The other upgrade: a node of a cluster that ran the Go operator, Viola, controller and agent is taken over in place. Its NICs,
 * files, objects and Jobs are of the shape that these left behind.
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
/** Numbers by MAC address, as the Go operator gave them: not the order in which ours would. */
const numbers = { storage: 1, backup: 0 } as const

export function upgrades(walkOf: () => TestSandbox, node: string): void {
  let nics: OldNic[]
  const place = () => walkOf().sandbox.nodes.get(node) ?? assert.fail(`there is no ${node}`)
  const devices = async () => {
    const links = await ipJson<{ ifname: string; ifindex: number; address: string }>(place().namespace, [
      'link',
      'show',
    ])
    return links.map(({ ifname, ifindex, address }) => `${ifindex} ${ifname} ${address}`)
  }

  async function underPing(what: () => Promise<void>): Promise<void> {
    const before = await devices()
    const pings = await Promise.all(nics.map(nic => startPing(place().namespace, nic.address, nic.gateway)))
    try {
      await what()
    } finally {
      for (const { sent, received } of await Promise.all(pings.map(ping => ping.stop()))) assert.equal(received, sent)
    }
    assert.deepEqual(await devices(), before, 'a NIC was renamed or made anew')
  }

  test('a node of the Go implementation is taken over in place: no NIC is touched, and its old Jobs are cleaned', async () => {
    const { kube } = walkOf().sandbox.biz
    nics = await attached(walkOf(), node)
    await asGoLeftIt(place().namespace, place().root, nics)
    const old = await anOldJob(walkOf(), node)
    await underPing(async () => {
      const version = 'v1alpha1'
      const key = { namespace, name: node }
      // As the Viola of that time did: with kubectl.
      const config = goConfig(node, namespace, place().server.id, walkOf().sandbox.clusterId, nics)
      await kube.apply({ ...nodeConfigs, version }, config, { fieldManager: 'kubectl-client-side-apply' })
      await kube.patchStatus({ ...nodeConfigs, version }, key, goStatus(nics, old))
      await eventually(
        async () => {
          const { status } = await walkOf().nodeConfig(node)
          assert.equal(`${status?.state} ${status?.nics} ${status?.bootID}`, `Configured 2/2 ${place().bootID}`)
        },
        { within },
      )
    })
    await eventually(async () => assert.equal(await kube.get(jobs, { namespace, name: old }), undefined), { within })
    const { rules, files } = await walkOf().nodeState(node)
    for (const { id, name, address, macAddress } of nics) {
      assert.equal(rules.filter(rule => rule.includes(`from ${address} `)).length, 1, 'the old rule is still there')
      assert.match(files[`etc/netplan/9${id}-${name}.yaml`] ?? '', new RegExp(macAddress))
    }
  })

  test('the operator adds the port ids, and every MAC keeps its number', async () => {
    await underPing(async () => {
      await walkOf().addConfig('upgraded', [node], Object.keys(numbers))
      await eventually(
        async () => {
          const { spec, status, metadata } = await walkOf().nodeConfig(node)
          assert.equal(status?.observedGeneration, metadata.generation)
          assert.equal(status?.state, 'Configured')
          const told = JSON.stringify((await walkOf().openstackConfig('upgraded')).status)
          assert.ok(
            spec.interfaces.every(({ portId }) => portId),
            told,
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

async function attached(system: TestSandbox, node: string): Promise<OldNic[]> {
  const { cloudState, nodes } = system.sandbox
  const nics = Object.entries(numbers).map(([subnet, id]) => {
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

/** Rules without a priority, tables by number, a netplan file whose rule has the prefix of the subnet. */
async function asGoLeftIt(netns: string, root: string, nics: OldNic[]): Promise<void> {
  const links = await ipJson<{ ifname: string; address: string }>(netns, ['link', 'show'])
  for (const { id, name, macAddress, address, cidr, mtu } of nics) {
    const found = links.find(link => link.address === macAddress) ?? assert.fail(`${macAddress} is not plugged`)
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

/** Ended, with the labels that the Go controller gave, and without a TTL. */
async function anOldJob(system: TestSandbox, node: string): Promise<string> {
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
