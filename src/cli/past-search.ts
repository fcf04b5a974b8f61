/**
 * Searches past records: values that start with a text. Pure.
 */
import { canonical } from '../contract/address.ts'
import { addressesOf } from '../contract/interfaces.ts'
import type { InventoryRecord, SearchHit } from '../contract/inventory.ts'

export function hitsIn(records: readonly InventoryRecord[], word: string): SearchHit[] {
  const address = canonical(word.split('/', 1)[0] ?? word) ?? word.toLowerCase()
  return records.flatMap(({ providerId, providerName, nodeName, instanceId, instanceName, config }) => {
    const place = { providerId, nodeName }
    const ofNode: SearchHit[] = [
      { kind: 'node', value: nodeName, ...place },
      { kind: 'vm', value: instanceId, ...place },
      ...(instanceName && instanceName !== nodeName ? [{ kind: 'vm' as const, value: instanceName, ...place }] : []),
      ...(providerName ? [{ kind: 'provider' as const, value: providerName, ...place }] : []),
    ]
    const ofNics = config.interfaces.flatMap((nic): SearchHit[] => {
      const here = { ...place, ...(nic.name && { interface: nic.name }) }
      const addresses = addressesOf(nic).map(one => one.split('/', 1)[0] ?? one)
      return [
        ...addresses
          .filter(one => one.startsWith(address))
          .map(value => ({ kind: 'address' as const, value, ...here })),
        ...(nic.macAddress.startsWith(word.toLowerCase())
          ? [{ kind: 'mac' as const, value: nic.macAddress, ...here }]
          : []),
        ...(nic.portId?.startsWith(word) ? [{ kind: 'port' as const, value: nic.portId, ...here }] : []),
        ...(nic.subnetName?.startsWith(word) ? [{ kind: 'subnet' as const, value: nic.subnetName, ...here }] : []),
        ...(nic.networkName?.startsWith(word) ? [{ kind: 'network' as const, value: nic.networkName, ...here }] : []),
      ]
    })
    return [...ofNode.filter(({ value }) => value.startsWith(word)), ...ofNics]
  })
}
