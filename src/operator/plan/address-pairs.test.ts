import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completeInterfaces, specHash } from '../../contract/interfaces.ts'
import type { AddressPair, Port } from '../cloud.ts'
import { pairsBeyond } from './address-pairs.ts'
import { aNode, aPort, observed, storage } from './plan.fixture.ts'
import { planNodes } from './plan.ts'

const own = 'fa:16:3e:00:00:01'
const pair = (ipAddress: string, macAddress = own): AddressPair => ({ ipAddress, macAddress })
const secured = (pairs: AddressPair[], more: Partial<Port> = {}) =>
  aPort(1, { portSecurity: { enabled: true, allowedAddressPairs: pairs }, ...more })
const v6 = { ...storage, id: 'v6', cidr: 'fd00::/64' }
const at = (subnetId: string, address: string) => ({ subnetId, address })

const cases: Record<string, [pairs: AddressPair[], delivered: string[], more?: Partial<Port>]> = {
  'a network beyond the subnet': [[pair('10.10.0.0/24')], ['10.10.0.0/24']],
  'addresses of both families get their prefix': [
    [pair('FD10::7'), pair('10.10.0.7')],
    ['10.10.0.7/32', 'fd10::7/128'],
  ],
  'a network is written without host bits': [[pair('10.10.0.7/24')], ['10.10.0.0/24']],
  'a network that contains the subnet goes beyond it': [[pair('10.1.0.0/16')], ['10.1.0.0/16']],
  'a network beside the subnet': [[pair('10.1.1.0/24')], ['10.1.1.0/24']],
  'inside a subnet of the NIC': [
    [pair('10.1.0.7'), pair('10.1.0.128/25'), pair('10.1.0.0/24'), pair('fd00::7')],
    [],
    { addresses: [at('storage', '10.1.0.1'), at('v6', 'fd00::1')] },
  ],
  'inside a selected subnet of another NIC': [[pair('fd00::7')], ['fd00::7/128']],
  'an address of the port in a subnet that is not selected': [
    [pair('10.20.0.5'), pair('10.20.0.5/32'), pair('10.20.0.6')],
    ['10.20.0.6/32'],
    { addresses: [at('storage', '10.1.0.1'), at('elsewhere', '10.20.0.5')] },
  ],
  'the same network twice': [[pair('10.10.0.7'), pair('10.10.0.7/32'), pair('10.10.0.7')], ['10.10.0.7/32']],
  'every address': [[pair('0.0.0.0/0'), pair('::/0'), pair('10.10.0.7')], ['10.10.0.7/32']],
  'half of all addresses': [[pair('128.0.0.0/1')], ['128.0.0.0/1']],
  'of another MAC address': [[pair('10.10.0.7', 'fa:16:3e:00:00:02'), pair('10.10.0.8')], ['10.10.0.8/32']],
  'of a port whose MAC address is in upper case': [
    [pair('10.10.0.7')],
    ['10.10.0.7/32'],
    { macAddress: own.toUpperCase() },
  ],
  'unreadable ones, beside good ones': [
    [pair(''), pair('x'), pair('10.10.0.0/33'), pair('10.10.0.300'), pair('10.10.0.7/'), pair('10.10.0.8', '')],
    [],
  ],
  'one that is unreadable, and one that is not': [[pair('x'), pair('10.10.0.7')], ['10.10.0.7/32']],
  none: [[], []],
}
for (const [name, [pairs, delivered, more]] of Object.entries(cases))
  test(`allowed address pairs: ${name}`, () => {
    const port = secured(pairs, more)
    const plan = planNodes(observed({ subnets: [storage, v6], ports: [port] }))
    const [nic] = plan.nodes[0]?.interfaces ?? []
    assert.deepEqual(nic?.allowedAddressPairs, delivered.length > 0 ? delivered : undefined)
    assert.equal(nic !== undefined && 'allowedAddressPairs' in nic, delivered.length > 0)
  })

test('a selected subnet of another network does not hide a pair', () => {
  const elsewhere = { ...storage, id: 'elsewhere', networkId: 'net-x', cidr: '10.20.0.0/24' }
  const port = secured([pair('10.20.0.9')], { addresses: [at('storage', '10.1.0.1'), at('elsewhere', '10.20.0.5')] })
  const [node] = planNodes(observed({ subnets: [storage, elsewhere], ports: [port] })).nodes
  assert.deepEqual(node?.interfaces[0]?.allowedAddressPairs, ['10.20.0.9/32'])
})

test('an unreadable subnet hides no pair', () => {
  assert.deepEqual(pairsBeyond(secured([pair('10.10.0.7')]), [{ cidr: 'none' }]), ['10.10.0.7/32'])
})

test('of more pairs than an interface may have, the same ones are delivered in any order of the cloud', () => {
  const pairs = Array.from({ length: 40 }, (_, n) => pair(`10.10.${n + 10}.0/24`))
  const first = pairsBeyond(secured(pairs), [storage])
  assert.equal(first.length, 32)
  assert.deepEqual(pairsBeyond(secured(pairs.toReversed()), [storage]), first)
})

const actions = (ports: Port[], delivered: Port[]) => {
  const [before] = planNodes(observed({ ports: delivered })).nodes
  const { nodes } = planNodes(observed({ ports, delivered: [aNode(before?.interfaces ?? [])] }))
  return nodes.map(({ action, interfaces }) => [action, interfaces[0]?.allowedAddressPairs])
}

test('pairs that appear or go are sent; another order, and pairs that are not delivered, are not', () => {
  const some = secured([pair('10.10.0.7'), pair('10.11.0.0/24')])
  assert.deepEqual(actions([some], [aPort(1)]), [['send', ['10.10.0.7/32', '10.11.0.0/24']]])
  assert.deepEqual(actions([secured([])], [some]), [['send', undefined]])
  const reversed = secured([pair('10.11.0.0/24'), pair('0.0.0.0/0'), pair('10.10.0.7/32'), pair('10.1.0.9')])
  assert.deepEqual(actions([reversed], [some]), [['keep', ['10.10.0.7/32', '10.11.0.0/24']]])
})

test('pairs stay as delivered while the cloud does not report them', () => {
  assert.deepEqual(actions([aPort(1)], [secured([pair('10.10.0.7')])]), [['keep', ['10.10.0.7/32']]])
})

test('a port without pairs beyond its subnet has the hash that it has without port security', () => {
  const hashOf = (port: Port) => {
    const [node] = planNodes(observed({ ports: [port] })).nodes
    return specHash({ nodeName: 'worker-1', interfaces: node?.interfaces ?? [] })
  }
  const today = hashOf(aPort(1))
  assert.equal(hashOf(secured([])), today)
  assert.equal(hashOf(secured([pair('10.1.0.9'), pair('0.0.0.0/0')])), today)
  assert.notEqual(hashOf(secured([pair('10.10.0.9')])), today)
  // Computed by the version without this field.
  const { interfaces } = completeInterfaces([{ macAddress: own, address: '10.1.0.1', cidr: '10.1.0.0/24' }])
  assert.equal(
    specHash({ nodeName: 'worker-1', interfaces }),
    '194c0067039ae85cd31f6234c52939ee96a7a996dfb30cce30fdb87233ac77fb',
  )
})
