/**
 * Builds inventory records for tests.
 */
import type { InventoryWrite } from '../../src/contract/inventory.ts'

export function aWrite(nodeName: string, more: Partial<InventoryWrite> & { nics?: number } = {}): InventoryWrite {
  const { nics = 1, ...rest } = more
  const base = [...nodeName].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 0xffff, 7)
  const [high, low] = [base >> 8, base & 0xff]
  const hex = (byte: number) => byte.toString(16).padStart(2, '0')
  return {
    providerId: 'p1',
    nodeName,
    instanceId: `vm-${nodeName}`,
    config: {
      nodeName,
      instanceId: `vm-${nodeName}`,
      interfaces: Array.from({ length: nics }, (_, id) => ({
        id,
        name: `multinic${id}`,
        portId: `port-${nodeName}-${id}`,
        macAddress: `02:00:00:${hex(high)}:${hex(low)}:0${id}`,
        address: `10.${id}.${high}.${low}`,
        cidr: `10.${id}.0.0/16`,
        mtu: 1450,
      })),
    },
    lastConfigHash: `hash-${nodeName}-${nics}`,
    why: 'a port was attached',
    ...rest,
  }
}
