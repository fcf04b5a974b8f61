import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Interface, WireInterface } from '../../src/contract/interfaces.ts'
import { changesBetween } from './diff.ts'
import { aRecord } from './record.fixture.ts'

const changed: Record<keyof Interface, Partial<WireInterface>> = {
  index: { id: 1, name: 'multinic1' },
  name: { name: 'multinic1' },
  macAddress: { macAddress: 'fa:16:3e:00:00:09' },
  portId: { portId: 'other' },
  address: { address: '10.0.0.9' },
  cidr: { cidr: '10.0.0.0/16' },
  mtu: { mtu: 9000 },
  addresses: { addresses: ['10.0.0.8/24'] },
  gateway: { gateway: '10.0.0.1' },
  routes: { routes: [{ destination: '10.9.0.0/16', nexthop: '10.0.0.1' }] },
  allowedAddressPairs: { allowedAddressPairs: ['10.10.0.0/24'] },
  networkId: { networkId: 'other' },
  subnetId: { subnetId: 'other' },
  source: { source: 'other/one' },
  subnetName: { subnetName: 'other' },
  networkName: { networkName: 'other' },
  alias: { alias: 'other' },
}

for (const field of Object.keys(changed) as (keyof Interface)[])
  test(`the history shows a change of the field ${field}`, () => {
    const before = aRecord('w', { 0: { address: '10.0.0.7' } })
    const [nic] = before.config.interfaces
    assert.ok(nic)
    const after = { ...before, config: { ...before.config, interfaces: [{ ...nic, ...changed[field] }] } }
    assert.notDeepEqual(changesBetween(before, after), [])
  })
