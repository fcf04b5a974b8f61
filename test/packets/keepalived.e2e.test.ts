/**
 * Virtual addresses that the real keepalived puts on a NIC and on the primary: they work without a run of the agent, move to
 * another node and back, and are no drift.
 *
 * Prints a line for each case with what it saw.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { createNode, type RigNode } from '../rigs/host/node.ts'
import { startKeepalived, type VirtualRouter } from '../rigs/keepalived/rig.ts'
import { portSecurity } from '../rigs/port-security.ts'
import type { Daemon } from '../rigs/process.ts'
import { eventually } from '../support/eventually.ts'
import { addressIn, addressOf, type Family, families, type Layout, type Name, subnetOf } from './addresses.ts'
import { requestOf, runAgent } from './configure.ts'
import type { Row } from './expectations.ts'
import { seenPackets, watchRules } from './filters.ts'
import { createTestbed, type NamespaceTestbed } from './namespace-testbed.ts'
import { batch, feed, inside } from './namespaces.ts'
import type { Case } from './pairwise.ts'
import { ports } from './ports.ts'
import { reportResults, runCases } from './run-cases.ts'
import { type Station, startStation } from './stations.ts'
import { table } from './table.ts'

const layout: Layout = 'one NIC'
const lengths: Record<string, Record<Family, number>> = {
  'with the length of one address': { 4: 32, 6: 128 },
  'with the length of the subnet': { 4: 24, 6: 64 },
}

for (const [name, length] of Object.entries(lengths))
  test(`a virtual address on a NIC ${name} works, moves to another node and back, and is no drift`, () =>
    withTestbed(async (testbed, clean) => {
      const other = await createOtherNode(testbed)
      clean(() => other.remove())
      const routers = (priority: number) => families.map(family => router('VIP', family, length[family], priority))
      const start = async () => {
        const daemon = await startKeepalived(testbed.node.namespace, routers(150))
        clean(() => daemon.stop('SIGKILL'))
        return daemon
      }
      const backup = await startKeepalived(other.node.namespace, routers(100))
      clean(() => backup.stop('SIGKILL'))
      let master = await start()

      const rows = rowsWith('VIP')
      await hasAddresses(testbed.node, ['VIP'], master)
      reportResults(await runCases(testbed, casesOf(rows), undefined, rows))
      for (const one of [testbed.node, other.node]) await isUntouched(one)

      await master.stop()
      await hasAddresses(other.node, ['VIP'], backup)
      const outcomes = await testbed.send(
        families.flatMap(family =>
          (['client', 'far'] as const).map(from => ({
            ...{ from, to: 'VIP' as const, port: 'host' as const, family, within: 3_000 },
          })),
        ),
      )
      assert.deepEqual(
        outcomes.map(({ source, devices }) => `${source} ${devices}`),
        ['client ', 'far ', 'client ', 'far '],
      )
      assert.deepEqual(other.devices(), ['p9'])
      for (const one of [testbed.node, other.node]) await isUntouched(one)

      master = await start()
      await hasAddresses(testbed.node, ['VIP'], master)
      reportResults(await runCases(testbed, casesOf(rows), undefined, rows))
      for (const one of [testbed.node, other.node]) await isUntouched(one)
    }))

test('a virtual address on the primary, and one on a NIC that is not in its subnet, work and are no drift', () =>
  withTestbed(async (testbed, clean) => {
    const on = (name: Name, id: number, device: string) =>
      families.map(family => ({
        ...{ id: id + family, device, priority: 100 },
        addresses: [`${addressOf(name, layout, family)}/${family === 4 ? 32 : 128}`],
      }))
    routeTo('external IP', testbed)
    const daemon = await startKeepalived(testbed.node.namespace, [
      ...on('VIP-P', 60, 'ens3'),
      ...on('external IP', 70, 'multinic0'),
    ])
    clean(() => daemon.stop('SIGKILL'))
    await hasAddresses(testbed.node, ['VIP-P', 'external IP'], daemon)
    const rows: Record<string, Row> = {
      ...rowsWith('VIP-P'),
      "a client in the primary's subnet reaches a VIP of the primary": {
        ...{ from: 'peer', to: 'VIP-P', port: 'host', source: 'peer', device: 'VIP-P' },
      },
      'a client on link reaches a virtual address that is not in the subnet': {
        ...{ from: 'client', to: 'external IP', port: 'host', source: 'client', device: 'external IP' },
      },
      'a client behind the gateway reaches a virtual address that is not in the subnet': {
        ...{ from: 'far', to: 'external IP', port: 'host', source: 'far', device: 'external IP' },
      },
    }
    reportResults(await runCases(testbed, casesOf(rows), undefined, rows))
    await isUntouched(testbed.node)
    await daemon.stop()
    await isUntouched(testbed.node)
  }))

const rowsWith = (name: Name): Record<string, Row> =>
  Object.fromEntries(Object.entries(table).filter(([, { bind, to }]) => bind === name || to === name))

const casesOf = (rows: Readonly<Record<string, Row>>): Case[] =>
  Object.keys(rows).flatMap(row =>
    families.map(family => ({ row, layout, filter: 'neutron' as const, vpn: 'none' as const, family })),
  )

function router(name: Name, family: Family, length: number, priority: number): VirtualRouter {
  const addresses = [`${addressOf(name, layout, family)}/${length}`]
  return { id: 50 + family, device: 'multinic0', priority, addresses }
}

/** A node that the agent configured, before anybody else put addresses on it. */
async function withTestbed(
  work: (testbed: NamespaceTestbed, clean: (end: () => unknown) => void) => Promise<void>,
): Promise<void> {
  const testbed = await createTestbed(layout)
  const ends: (() => unknown)[] = [() => testbed.remove()]
  try {
    testbed.setFilter('neutron')
    await runAgent(testbed.node, requestOf(testbed.node))
    await work(testbed, end => void ends.unshift(end))
  } finally {
    for (const end of ends) await end()
  }
}

/** The check finds no drift, and a run changes nothing. */
async function isUntouched(node: RigNode): Promise<void> {
  const addresses = node.ip('-br', 'address')
  const check = await node.agent({ ...requestOf(node), mode: 'check' })
  assert.equal(check.report?.verdict, 'InSync', check.report?.message)
  const again = await node.agent(requestOf(node))
  assert.equal(`${again.report?.verdict} ${again.report?.changed}`, 'Configured 0', again.log)
  assert.equal(node.ip('-br', 'address'), addresses)
}

async function hasAddresses(node: RigNode, names: readonly Name[], daemon: Daemon): Promise<void> {
  try {
    await eventually(
      () => {
        const found = node.ip('address')
        for (const family of families)
          for (const name of names) assert.ok(found.includes(` ${addressOf(name, layout, family)}/`), found)
        assert.doesNotMatch(found, /tentative/)
      },
      { within: 15_000 },
    )
  } catch (error) {
    throw new Error(`keepalived: ${await daemon.tail()}`, { cause: error })
  }
}

/** Routers and clients send the address to A. */
function routeTo(name: Name, { node }: NamespaceTestbed): void {
  for (const namespace of [node.fabric, `${node.namespace}client`])
    batch(
      namespace,
      families.map(
        family =>
          `-${family} route add ${addressOf(name, layout, family)}/${family === 4 ? 32 : 128} via ${addressOf('A', layout, family)}`,
      ),
    )
}

interface OtherNode {
  node: RigNode
  /** The ports of its fabric that saw packets to clients of the test. */
  devices(): string[]
  remove(): Promise<void>
}

/** A node with a NIC in the same subnet: the bridges of the two fabrics are connected. */
async function createOtherNode(testbed: NamespaceTestbed): Promise<OtherNode> {
  const node = await createNode({ nics: 0 })
  const { namespace, fabric } = node
  let station: Station | undefined
  const remove = async () => {
    await station?.stop()
    node.remove()
  }
  try {
    // Another index than that of the first node, for another MAC address.
    const nic = node.plug(8)
    node.nics.splice(0, 9, {
      ...nic,
      address: addressIn(0, 11, 4),
      cidr: subnetOf(0, 4),
      gateway: addressIn(0, 1, 4),
      address6: `${addressIn(0, 11, 6)}/64`,
      gateway6: addressIn(0, 1, 6),
    })
    execFileSync('ip', [
      ...['-n', fabric, 'link', 'add', 'joint', 'master', 'br9', 'type', 'veth'],
      // A bridge without an address of its own takes the lowest one of its ports, and neighbour entries for it would go stale.
      ...['peer', 'name', 'joint', 'address', 'fe:ff:ff:ff:ff:ff', 'netns', testbed.node.fabric],
    ])
    batch(fabric, ['link set joint up'])
    batch(testbed.node.fabric, ['link set joint master br1', 'link set joint up'])
    const { macAddress } = nic
    const allowedAddressPairs = families.map(family => ({
      macAddress,
      ipAddress: addressOf('VIP', layout, family) ?? '',
    }))
    const addresses = families.map(family => addressIn(0, 11, family))
    const security = portSecurity([{ device: 'p9', macAddress, addresses, allowedAddressPairs }])
    feed(fabric, `${security}${watchRules(['p0', 'p9'])}`, 'nft', '-f', '-')
    await runAgent(node, requestOf(node))
    station = startStation(namespace)
    await station.request({ do: 'listen', tcp: [ports.host] })
    return {
      node,
      devices() {
        const packets = seenPackets(inside(fabric, 'nft', '--json', 'list', 'table', 'netdev', 'watch'))
        const replies = packets.filter(({ sourcePort }) => sourcePort === ports.host)
        return [...new Set(replies.map(({ device }) => device))]
      },
      remove,
    }
  } catch (error) {
    await remove()
    throw error
  }
}
