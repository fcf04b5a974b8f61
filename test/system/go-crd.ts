/**
 * The MultiNicNodeConfig of the Go implementation as a cluster has it: its CRD, stored as v1alpha1, and an object with the
 * fields that its Viola and its controller wrote.
 */
const text = { type: 'string' }
const number = { type: 'integer', format: 'int64' }
const macAddress = { type: 'string', pattern: '^([0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}$' }

const spec = {
  type: 'object',
  required: ['nodeName', 'interfaces'],
  properties: {
    nodeName: text,
    instanceId: text,
    interfaces: {
      type: 'array',
      minItems: 1,
      items: {
        type: 'object',
        required: ['macAddress'],
        properties: {
          ...{ macAddress, portId: text, address: text, cidr: text },
          id: { type: 'integer', minimum: 0 },
          name: { type: 'string', pattern: '^multinic[0-9]+$' },
          mtu: { type: 'integer', minimum: 68, maximum: 9000 },
        },
      },
    },
  },
}

const status = {
  type: 'object',
  properties: {
    state: { type: 'string', enum: ['Pending', 'InProgress', 'Configured', 'Failed'] },
    observedGeneration: number,
    ...{ observedSpecHash: text, lastJobName: text, lastUpdated: text, lastInterfaceCheck: text },
    nodeReady: { type: 'boolean' },
    conditions: {
      type: 'array',
      items: { type: 'object', properties: { type: text, status: text, reason: text, message: text } },
    },
    interfaceStatuses: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          ...{ name: text, macAddress, address: text, cidr: text, status: text, reason: text, actualState: text },
          ...{ interfaceIndex: number, id: number, mtu: number, lastUpdated: text },
        },
      },
    },
  },
}

export const goDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'multinicnodeconfigs.multinic.io' },
  spec: {
    group: 'multinic.io',
    scope: 'Namespaced',
    names: {
      kind: 'MultiNicNodeConfig',
      plural: 'multinicnodeconfigs',
      singular: 'multinicnodeconfig',
      shortNames: ['mnnc'],
    },
    versions: [
      {
        ...{ name: 'v1alpha1', served: true, storage: true },
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
      },
    ],
  },
}

interface GoNic {
  id: number
  name: string
  macAddress: string
  address: string
  cidr: string
  mtu: number
}

export function goConfig(name: string, namespace: string, instanceId: string, providerId: string, nics: GoNic[]) {
  return {
    apiVersion: 'multinic.io/v1alpha1',
    kind: 'MultiNicNodeConfig',
    metadata: {
      ...{ name, namespace },
      labels: {
        'multinic.io/node-name': name,
        'multinic.io/instance-id': instanceId,
        'multinic.io/provider-id': providerId,
      },
    },
    spec: {
      ...{ nodeName: name, instanceId },
      interfaces: nics.map(({ id, name, macAddress, address, cidr, mtu }) => ({
        ...{ id, name, macAddress, address, cidr, mtu },
      })),
    },
  }
}

export function goStatus(nics: GoNic[], lastJobName: string): object {
  return {
    ...{ state: 'Configured', observedGeneration: 1, observedSpecHash: 'a'.repeat(64), lastJobName },
    conditions: [{ type: 'Ready', status: 'True', reason: 'JobSucceeded' }],
    interfaceStatuses: nics.map(({ id, name, macAddress, address, cidr, mtu }) => ({
      ...{ id, interfaceIndex: id, name, macAddress, address, cidr, mtu, status: 'Configured', reason: 'JobSucceeded' },
    })),
    ...{ nodeReady: true, lastUpdated: '2026-01-01T00:00:00Z' },
  }
}
