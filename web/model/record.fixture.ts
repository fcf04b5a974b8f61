/**
 * An inventory record for tests: one node with NICs by index.
 */
import type { InventoryRecord } from '../../src/contract/inventory.ts'

type Status = NonNullable<InventoryRecord['interfaces']>[number]['status']

export function aRecord(
  nodeName: string,
  nics: Record<number, { address: string; status?: Status; mtu?: number }>,
): InventoryRecord {
  const list = Object.entries(nics).map(([id, nic]) => ({
    id: Number(id),
    macAddress: `fa:16:3e:00:00:0${id}`,
    ...nic,
  }))
  return {
    providerId: 'biz',
    nodeName,
    instanceId: 'vm',
    config: {
      nodeName,
      interfaces: list.map(({ id, macAddress, address, mtu }) => ({
        id,
        macAddress,
        portId: `${nodeName}-${id}`,
        address,
        cidr: '10.0.0.0/24',
        ...(mtu ? { mtu } : {}),
      })),
    },
    lastConfigHash: 'h',
    updatedAt: '2026-01-01T00:00:00Z',
    interfaces: list.map(({ id, macAddress, status }) => ({ id, macAddress, status })),
  }
}
