/** The paths that the CLI explains, and those of the kernel on a node that the agent has configured. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type NodeOptions, type RigNode, requestedInterface, withNode } from '../../test/rigs/host/node.ts'
import { parseIp } from '../contract/address.ts'
import type { AgentInput } from '../contract/agent-input.ts'
import { type CompleteWireInterface, fromWireInterfaces, toWireInterface } from '../contract/interfaces.ts'
import { onlyBoundIn } from '../contract/routing-messages.ts'
import { tableLocal, tableMain } from '../contract/routing-scheme.ts'
import { markOf, type PacketPath, packetPaths } from './packet-path.ts'

const primary = { 4: '10.0.0.10', 6: 'fd00:ff::10' } as const

type Requested = AgentInput['interfaces'][number]

interface Case {
  options: NodeOptions
  more?: (index: number) => Partial<Requested>
  to: string[]
}

const default6 = (gateway: string) => ({ destination: '::/0', nexthop: gateway })

const cases: Record<string, Case> = {
  'two NICs with gateways': {
    options: { nics: 2 },
    to: [
      '10.100.0.77',
      '10.101.0.77',
      '192.0.2.1',
      '10.0.0.77',
      '10.101.0.10',
      'fd00::77',
      'fd00:1::77',
      '2001:db8::1',
    ],
  },
  'three NICs in one subnet': { options: { nics: 3, oneSubnet: true }, to: ['10.100.0.77', '192.0.2.1', 'fd00::77'] },
  'a NIC in the network of the primary': {
    options: { nics: 2 },
    more: index => (index === 1 ? { address: '10.0.0.20', cidr: '10.0.0.0/24', gateway: '10.0.0.1' } : {}),
    to: ['10.0.0.77', '10.100.0.77', '192.0.2.1'],
  },
}

/** Device, gateway and table. A packet that would leave by another port with the address of a NIC gets its mark. */
function answerOf(node: RigNode, { packets, from, mark }: PacketPath, to: string, nicMark: string): string {
  const family = to.includes(':') ? 6 : 4
  const source = packets === 'fromNode' ? primary[family] : mark === undefined ? from : undefined
  const answer = routeGet(node, to, source ? ['from', source] : mark ? ['mark', mark] : [])
  const isMoved = packets === 'fromAddress' && answer.startsWith('primary') && to.startsWith('10.0.0.')
  return isMoved ? routeGet(node, to, ['mark', nicMark]) : answer
}

function routeGet(node: RigNode, to: string, question: string[]): string {
  const [found] = JSON.parse(node.ip('-N', '-j', 'route', 'get', to, ...question))
  const table = found.type === 'local' || found.dev === 'lo' ? tableLocal : Number(found.table ?? tableMain)
  const device = table === tableLocal ? 'local' : found.dev === 'ens3' ? 'primary' : found.dev
  return [device, device.startsWith('multinic') && found.gateway, table].filter(Boolean).join(' ')
}

function textOf({ by, device, gateway, table }: PacketPath): string {
  return [device ?? by, gateway, table].filter(Boolean).join(' ')
}

suite('paths of packets', { concurrency: 2 }, () => {
  for (const [name, { options, more = () => ({}), to }] of Object.entries(cases))
    test(`the kernel finds the same device, gateway and table: ${name}`, () =>
      withNode(options, async node => {
        node.ip('address', 'add', 'fd00:ff::10/64', 'dev', 'ens3', 'nodad')
        node.ip('route', 'add', 'default', 'via', 'fd00:ff::1', 'dev', 'ens3')
        const interfaces = node.nics.map((nic, index) =>
          requestedInterface(nic, index, {
            addresses: [nic.address6],
            routes: [default6(nic.gateway6)],
            ...more(index),
          }),
        )
        const ran = await node.agent({ interfaces, nodeAddresses: Object.values(primary) }, { NETWORK_PROBE: 'off' })
        assert.equal(ran.report?.verdict, 'Configured', ran.log)
        const reserved = onlyBoundIn(ran.report.interfaces.map(nic => nic.message).join('; ')).map(each => each.network)
        const nics = fromWireInterfaces(interfaces).map(nic => ({
          nic: toWireInterface(nic) as CompleteWireInterface,
          reserved,
        }))
        for (const address of to)
          for (const { nic } of nics)
            for (const path of packetPaths(nic.id, nics, parseIp(address) ?? assert.fail(address)))
              assert.equal(
                textOf(path),
                answerOf(node, path, address, markOf(nic.id)),
                `${nic.name} ${path.packets} ${path.from ?? ''} to ${address}`,
              )
      }))
})
