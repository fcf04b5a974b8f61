/**
 * Records as CSV for spreadsheets, one line per interface. Pure.
 */
import { csvText } from '../contract/csv.ts'
import { addressesOf } from '../contract/interfaces.ts'
import type { InventoryRecord } from '../contract/inventory.ts'
import { storedInterfaces } from './rows.ts'

const columns = [
  'providerId',
  'nodeName',
  'instanceId',
  'interface',
  'macAddress',
  'addresses',
  'mtu',
  'portId',
  'networkId',
  'subnetId',
  'status',
  'reason',
  'updatedAt',
  'instanceName',
  'subnetName',
  'networkName',
  'alias',
  'providerName',
]

export function csvOf(records: readonly InventoryRecord[]): string {
  const lines = records.flatMap(record => {
    const { providerId, providerName, nodeName, instanceId, instanceName, updatedAt } = record
    return storedInterfaces(record.config).map(nic => {
      const state = record.interfaces?.find(({ macAddress }) => macAddress === nic.macAddress)
      return [
        providerId,
        nodeName,
        instanceId,
        nic.name,
        nic.macAddress,
        addressesOf(nic).join(' '),
        nic.mtu?.toString(),
        nic.portId,
        nic.networkId,
        nic.subnetId,
        state?.status,
        state?.reason,
        updatedAt,
        instanceName,
        nic.subnetName,
        nic.networkName,
        nic.alias,
        providerName,
      ]
    })
  })
  return csvText([columns, ...lines])
}
