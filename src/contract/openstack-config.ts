/**
 * OpenstackConfig: which ports of which VMs become interfaces, and the result of the last syncs.
 */
import * as z from 'zod'
import { maxInterfaces } from './interface-fields.ts'
import type { KubeObject, Resource } from './object.ts'
import { renumberStatus } from './renumber-status.ts'
import { settings } from './settings.ts'
import { conditions, dnsLabel, generation, opaqueId, timestamp } from './text.ts'

export const openstackConfigGroup = 'multinic.example.com'

export const openstackConfigAnnotations = {
  forceReconcile: 'multinic.io/force-reconcile',
  approveRemovals: 'multinic.io/approve-removals',
  renumber: 'multinic.io/renumber',
} as const

export const openstackConfigFinalizer = 'multinic.example.com/delivered-nodes'

const secretRef = z.object({
  name: z.string().min(1).max(253).meta({ description: "Name of a Secret in this object's namespace." }),
  key: z.string().min(1).max(253).meta({ description: 'Key in its data.' }),
})

const cloudSecretRef = z
  .object({
    name: z.string().min(1).max(253).meta({ description: "Name of a Secret in this object's namespace." }),
    key: z.string().min(1).max(253).optional().meta({ description: 'Key with the file. Default: clouds.yaml.' }),
    cloud: z.string().min(1).max(253).optional().meta({
      description: 'Name of the cloud in the file. Default: its only cloud, else openstack.',
    }),
  })
  .meta({
    description:
      'Cloud and account in a clouds.yaml, instead of Contrabass. The key cacert of the Secret has a private certificate authority.',
  })

const subnetRef = z
  .object({
    id: opaqueId.optional().meta({ description: 'ID of the subnet.' }),
    name: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'Name of the subnet (not of a network); it must be unique in the project.' }),
    index: z
      .int32()
      .min(0)
      .max(maxInterfaces - 1)
      .optional()
      .meta({
        description:
          'Index of the interface that a port of this subnet becomes, on every node. Default: the lowest free index that no subnet has.',
      }),
    alias: dnsLabel.optional().meta({
      description:
        'Name of the network in labels and objects of the cluster. Only with index. Default: multinic and the index, such as multinic0.',
    }),
  })
  .meta({
    'x-kubernetes-validations': [
      { rule: 'has(self.id) != has(self.name)', message: 'exactly one of id and name is required' },
      { rule: '!has(self.alias) || has(self.index)', message: 'index is required with alias' },
      {
        rule: "!has(self.alias) || !has(self.index) || !self.alias.matches('^multinic[0-9]$') || int(self.alias.substring(8)) == self.index",
        message: 'an alias that is multinic and a digit must have the digit of its index',
      },
    ],
  })

const vmSelector = z
  .object({
    namePattern: z
      .string()
      .min(1)
      .max(255)
      .optional()
      .meta({ description: 'Pattern of the whole server name: * stands for any characters, ? for one.' }),
    metadata: z
      .record(z.string().max(255), z.string().max(255))
      .optional()
      .meta({ description: 'Server metadata: every key with its value.' }),
    tags: z
      .array(
        z
          .string()
          .max(60)
          .regex(/^[^,/]+$/),
      )
      .max(50)
      .optional()
      .meta({
        description: 'Server tags: all of them. Needs Nova with microversion 2.26.',
        'x-kubernetes-list-type': 'atomic',
      }),
    clusterNodes: z.boolean().optional().meta({
      description:
        'Servers that are Nodes of the Biz cluster: the SystemUUID of the Node is the server ID. Needs a Viola that lists Nodes.',
    }),
  })
  .meta({
    description:
      'Servers of the project that meet all conditions, beside those in vmNames. New servers are found without an edit.',
    'x-kubernetes-validations': [
      {
        rule: 'has(self.namePattern) || (has(self.metadata) && size(self.metadata) > 0) || (has(self.tags) && size(self.tags) > 0) || (has(self.clusterNodes) && self.clusterNodes)',
        message: 'one of namePattern, metadata, tags and clusterNodes is required',
      },
    ],
  })

const deprecated = z.string().max(1024).optional().meta({ description: 'Deprecated and ignored.' })

export const openstackConfigSpec = z
  .object({
    subnets: z
      .array(subnetRef)
      .max(64)
      .optional()
      .meta({
        description:
          'Subnets whose ports are selected, in order of preference, each with the index of its interfaces. Instead of subnetIDs, subnetID and subnetName.',
        'x-kubernetes-list-type': 'atomic',
        'x-kubernetes-validations': [
          {
            rule: 'self.all(a, !has(a.alias) || self.all(b, !has(b.alias) || !has(a.index) || !has(b.index) || (a.alias == b.alias) == (a.index == b.index)))',
            message: 'an alias belongs to one index, and an index has one alias',
          },
        ],
      }),
    subnetIDs: z.array(opaqueId).max(64).optional().meta({
      description:
        'Subnets whose ports are selected, in order of preference. Takes precedence over subnetID and subnetName.',
      'x-kubernetes-list-type': 'atomic',
    }),
    subnetID: z.string().max(253).optional().meta({ description: 'One subnet. Takes precedence over subnetName.' }),
    subnetName: z
      .string()
      .max(255)
      .optional()
      .meta({ description: 'Name of one subnet (not of a network); it must be unique in the project.' }),
    vmNames: z.array(opaqueId).min(1).max(5000).optional().meta({
      description: 'Nova server IDs. An entry that is not a UUID is matched as an exact server name.',
      'x-kubernetes-list-type': 'atomic',
    }),
    vmSelector: vmSelector.optional(),
    cloudSecretRef: cloudSecretRef.optional(),
    credentials: z
      .object({
        openstackProviderID: opaqueId
          .optional()
          .meta({ description: 'Provider ID of the cloud in Contrabass. Not with cloudSecretRef.' }),
        k8sProviderID: z.string().max(253).optional().meta({
          description:
            'Provider ID of the Biz cluster, sent to Viola as x-provider-id. Default: openstackProviderID; with cloudSecretRef, default.',
        }),
        projectID: z
          .string()
          .max(36)
          .regex(/^([0-9a-fA-F]{32}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$/)
          .optional()
          .meta({
            description:
              'OpenStack project ID: 32 hex digits or a UUID. Required with openstackProviderID; with cloudSecretRef, the file names the project.',
          }),
        dataPlatformDB: deprecated,
        username: deprecated,
        password: deprecated,
        domainName: deprecated,
        providerID: deprecated,
      })
      .optional()
      .meta({ description: 'IDs of the cloud, the Biz cluster and the project.' }),
    settings: settings.optional(),
    secrets: z
      .object({
        contrabassEncryptKeySecretRef: secretRef
          .optional()
          .meta({ description: 'Key that decrypts the passwords from Contrabass.' }),
        violaTokenSecretRef: secretRef.optional().meta({ description: 'Bearer token for Viola.' }),
        rabbitmqSecretRef: secretRef.pick({ name: true }).optional().meta({
          description:
            'Message bus of the cloud, instead of the one in Contrabass. Keys: RABBITMQ_URLS, RABBITMQ_USER, RABBITMQ_PASSWORD, and RABBITMQ_CA for a private certificate authority.',
        }),
      })
      .optional()
      .meta({ description: 'Secrets in the namespace of this object.' }),
    deletionPolicy: z.enum(['Delete', 'Retain']).optional().meta({
      description:
        'What happens on the nodes when this object is deleted: Delete (default) removes its interfaces, Retain keeps them.',
    }),
  })
  .meta({
    description: 'Which ports of which VMs become interfaces of their nodes.',
    'x-kubernetes-validations': [
      {
        rule: "(has(self.subnets) && size(self.subnets) > 0) != ((has(self.subnetIDs) && size(self.subnetIDs) > 0) || (has(self.subnetID) && self.subnetID != '') || (has(self.subnetName) && self.subnetName != ''))",
        message: 'either subnets, or one of subnetIDs, subnetID and subnetName is required',
      },
      {
        rule: 'has(self.vmNames) || has(self.vmSelector)',
        message: 'one of vmNames and vmSelector is required',
      },
      {
        rule: 'has(self.cloudSecretRef) != (has(self.credentials) && has(self.credentials.openstackProviderID))',
        message: 'exactly one of cloudSecretRef and credentials.openstackProviderID is required',
      },
      {
        rule: 'has(self.cloudSecretRef) != (has(self.credentials) && has(self.credentials.projectID))',
        message:
          'credentials.projectID is required with credentials.openstackProviderID, and not allowed with cloudSecretRef: the file names the project',
      },
    ],
  })

const place = z.object({
  viola: z.string().max(2048).meta({ description: 'Address of the Viola API.' }),
  providerId: z.string().max(253).meta({ description: 'Provider id of the Biz cluster.' }),
})

const reservedIndex = z.object({
  vmId: opaqueId,
  portId: opaqueId,
  index: z
    .int32()
    .min(0)
    .max(maxInterfaces - 1),
  until: timestamp,
})
export type ReservedIndex = z.infer<typeof reservedIndex>
export const maxReservedIndexes = 500

export const openstackConfigStatus = z
  .object({
    observedGeneration: generation.optional(),
    conditions: conditions.optional(),
    lastSyncedAt: timestamp.optional().meta({ description: 'End of the last successful sync.' }),
    nextSyncAt: timestamp.optional(),
    lastChangeAt: timestamp.optional().meta({ description: 'Time of the last sync that sent a change.' }),
    lastError: z.string().max(4096).optional(),
    downPortRetry: z
      .object({
        hash: z.string().max(64).optional(),
        lastAttempt: timestamp.optional(),
        fastAttempts: z.int32().min(0).optional(),
      })
      .optional()
      .meta({ description: 'Retries for nodes with DOWN ports.' }),
    events: z
      .object({
        lastEventAt: timestamp.optional().meta({ description: 'Time of the last message from the message bus.' }),
        lagMs: z.int32().min(0).optional().meta({ description: 'Delay of the last notification.' }),
      })
      .optional()
      .meta({ description: 'Notifications of the cloud. Updated no more often than lastSyncedAt.' }),
    nodes: z
      .object({
        total: z.int32().min(0).optional(),
        configured: z.int32().min(0).optional(),
        failed: z.int32().min(0).optional(),
        pending: z.int32().min(0).optional(),
        ready: z.string().max(24).optional().meta({ description: 'Configured and requested nodes, such as 3/3.' }),
      })
      .optional()
      .meta({ description: 'Nodes of this object by state.' }),
    ports: z
      .object({
        total: z.int32().min(0).optional(),
        selected: z.int32().min(0).optional(),
        skipped: z
          .record(z.string().max(64), z.int32().min(0))
          .optional()
          .meta({ description: 'Ports that are not selected, by reason.' }),
        first: z
          .array(z.string().max(300))
          .max(10)
          .optional()
          .meta({ description: 'The first ports and VMs that are not selected, with the reason.' }),
        summary: z
          .string()
          .max(24)
          .optional()
          .meta({ description: 'Selected ports of all ports in the selection, such as 6/8.' }),
      })
      .optional()
      .meta({ description: 'Ports of these VMs by verdict.' }),
    heldRemovals: z
      .array(z.string().max(300))
      .max(100)
      .optional()
      .meta({ description: 'Ports whose removal is on hold until you approve it.' }),
    resolvedNames: z.record(z.string().max(253), z.string().max(253)).optional().meta({
      description:
        'Server of each name in vmNames. A name that comes to mean another server removes nothing until you approve it.',
    }),
    resolvedSubnets: z.record(z.string().max(255), z.string().max(253)).optional().meta({
      description:
        'Subnet of each name in subnets and subnetName. A name that comes to mean another subnet removes nothing until you approve it.',
    }),
    reservedIndexes: z.array(reservedIndex).max(maxReservedIndexes).optional().meta({
      description:
        'Indexes of removed interfaces. Another port of the VM gets such an index only if no other one is free, or if spec.subnets gives it that index.',
    }),
    deliveredTo: place
      .optional()
      .meta({ description: 'Cluster that this object delivers its nodes to. Written before the first delivery.' }),
    orphanedNodes: z
      .array(place.extend({ nodes: z.int32().min(0) }))
      .max(10)
      .optional()
      .meta({
        description:
          'Clusters that still have nodes of this object, because k8sProviderID or violaEndpoint changed. A new value of the annotation multinic.io/approve-removals clears the list.',
      }),
    approvedRemovals: z
      .string()
      .max(1024)
      .optional()
      .meta({ description: 'Value of the annotation multinic.io/approve-removals that was applied last.' }),
    renumber: renumberStatus.optional(),
  })
  .meta({ description: 'Result of the last syncs.' })

export const openstackConfig = z.object({
  apiVersion: z.string(),
  kind: z.literal('OpenstackConfig'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
  spec: openstackConfigSpec,
  status: openstackConfigStatus.optional(),
})

export type OpenstackConfigSpec = z.infer<typeof openstackConfigSpec>
export type OpenstackConfigStatus = z.infer<typeof openstackConfigStatus>

export interface OpenstackConfig extends KubeObject {
  spec: OpenstackConfigSpec
  status?: OpenstackConfigStatus
}

/** Whether the account comes from Contrabass. */
export function usesContrabass({ cloudSecretRef }: Partial<OpenstackConfigSpec>): boolean {
  return !cloudSecretRef
}

/** For a cloud without Contrabass: an installation with one cluster needs no IDs. */
const defaultProviderId = 'default'

/** The provider ID under which Viola knows the Biz cluster of an object. */
export function providerIdOf({ spec: { credentials = {} } }: OpenstackConfig): string {
  return credentials.k8sProviderID?.trim() || credentials.openstackProviderID || defaultProviderId
}

export const openstackConfigs: Resource<OpenstackConfig> = {
  group: openstackConfigGroup,
  version: 'v1alpha1',
  kind: 'OpenstackConfig',
  plural: 'openstackconfigs',
  namespaced: true,
}
