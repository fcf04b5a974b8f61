/**
 * Test builders of MultiNicBizConfigs and their nodes.
 */
import type { BizConfig, BizConfigStatus, BizNode } from '../../contract/legacy/biz-config.ts'
import type { ObjectMeta } from '../../contract/object.ts'

export interface BizConfigValues {
  name?: string
  nodes?: BizNode[]
  generation?: number
  metadata?: Partial<ObjectMeta>
  status?: BizConfigStatus
}

export function aBiz({ name = 'all', nodes = [], generation = 1, metadata, status }: BizConfigValues = {}): BizConfig {
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicBizConfig',
    metadata: { name, namespace: 'multinic-system', uid: 'uid-of-biz', generation, ...metadata },
    spec: { providerId: 'biz-1', nodeConfigs: nodes },
    ...(status && { status }),
  }
}

/** Each interface is given by the last byte of its MAC address. */
export function aBizNode(attachedNodeId: string, macs: number[], attachedNodeName?: string): BizNode {
  return {
    attachedNodeId,
    ...(attachedNodeName !== undefined && { attachedNodeName }),
    interfaces: macs.map(mac => ({
      portId: `port-${mac}`,
      macAddress: aMac(mac),
      address: `192.168.${mac}.10`,
      cidr: `192.168.${mac}.0/24`,
      mtu: 1450,
    })),
  }
}

export function aMac(byte: number): string {
  return `fa:16:3e:00:00:${byte.toString(16).padStart(2, '0')}`
}
