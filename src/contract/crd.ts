/**
 * Schema → CustomResourceDefinition. `make generate` writes the YAML in config/crd/ and deployments/ from these.
 */
import * as z from 'zod'
import { bizConfigSpec, bizConfigStatus } from './legacy/biz-config.ts'
import { nodeConfigGroup, nodeConfigSpec, nodeConfigStatus } from './node-config.ts'
import { openstackConfigGroup, openstackConfigSpec, openstackConfigStatus } from './openstack-config.ts'

interface Column {
  name: string
  type: 'string' | 'date' | 'integer'
  jsonPath: string
  description?: string
  priority?: number
}

interface Kind {
  group: string
  kind: string
  plural: string
  shortNames: string[]
  description: string
  /** The first is stored; all are served with the same schema. */
  versions: string[]
  spec: z.ZodType
  status: z.ZodType
  columns: Column[]
}

const ready = (field: 'status' | 'reason') => `.status.conditions[?(@.type=="Ready")].${field}`
const age: Column = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }

export const kinds: Kind[] = [
  {
    group: nodeConfigGroup,
    kind: 'MultiNicNodeConfig',
    plural: 'multinicnodeconfigs',
    shortNames: ['mnnc'],
    description: 'Requested and observed interfaces of one node.',
    versions: ['v1', 'v1alpha1'],
    spec: nodeConfigSpec,
    status: nodeConfigStatus,
    columns: [
      { name: 'Node', type: 'string', jsonPath: '.spec.nodeName' },
      { name: 'State', type: 'string', jsonPath: '.status.state' },
      { name: 'NICs', type: 'string', jsonPath: '.status.nics' },
      { name: 'Reason', type: 'string', jsonPath: ready('reason') },
      { name: 'Generation', type: 'integer', jsonPath: '.metadata.generation' },
      { name: 'Observed', type: 'integer', jsonPath: '.status.observedGeneration' },
      age,
    ],
  },
  {
    group: nodeConfigGroup,
    kind: 'MultiNicBizConfig',
    plural: 'multinicbizconfigs',
    shortNames: ['mnbc', 'multinicclusterconfig', 'multinicclusterconfigs'],
    description: 'Legacy cluster-wide form: requested interfaces of all nodes.',
    versions: ['v1'],
    spec: bizConfigSpec,
    status: bizConfigStatus,
    columns: [
      { name: 'Nodes', type: 'integer', jsonPath: '.status.summary.totalNodes' },
      { name: 'Configured', type: 'integer', jsonPath: '.status.summary.configuredNodes' },
      { name: 'Failed', type: 'integer', jsonPath: '.status.summary.failedNodes' },
      { name: 'Ready', type: 'string', jsonPath: ready('status') },
      age,
    ],
  },
  {
    group: openstackConfigGroup,
    kind: 'OpenstackConfig',
    plural: 'openstackconfigs',
    shortNames: ['osc'],
    description: 'Which ports of which OpenStack VMs become interfaces of their Kubernetes nodes.',
    versions: ['v1alpha1'],
    spec: openstackConfigSpec,
    status: openstackConfigStatus,
    columns: [
      { name: 'Ready', type: 'string', jsonPath: ready('status') },
      { name: 'Reason', type: 'string', jsonPath: ready('reason'), priority: 1 },
      { name: 'Nodes', type: 'string', jsonPath: '.status.nodes.ready' },
      { name: 'Ports', type: 'string', jsonPath: '.status.ports.summary' },
      { name: 'Synced', type: 'date', jsonPath: '.status.lastSyncedAt' },
      age,
    ],
  },
]

export function crdOf(kind: Kind): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      names: {
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        shortNames: kind.shortNames,
        categories: ['multinic'],
      },
      scope: 'Namespaced',
      versions: kind.versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        subresources: { status: {} },
        additionalPrinterColumns: kind.columns,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            description: kind.description,
            required: ['spec'],
            properties: {
              apiVersion: { type: 'string' },
              kind: { type: 'string' },
              metadata: { type: 'object' },
              spec: structural(kind.spec),
              status: structural(kind.status),
            },
          },
        },
      })),
    },
  }
}

/** A structural schema allows no $schema and no unions with types, and has booleans for exclusive bounds. */
function structural(schema: z.ZodType): unknown {
  const json = z.toJSONSchema(schema, {
    target: 'openapi-3.0',
    io: 'input',
    override: ({ jsonSchema }) => {
      if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
      if (jsonSchema.type === 'integer' && jsonSchema.maximum === Number.MAX_SAFE_INTEGER) {
        delete jsonSchema.maximum
        jsonSchema.format = 'int64'
      }
      delete (jsonSchema as { propertyNames?: unknown }).propertyNames
    },
  })
  const { $schema: _, ...rest } = json as Record<string, unknown>
  return rest
}
