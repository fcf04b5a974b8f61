/**
 * Plans a migration node by node: the MultiNicNodeConfig for each node of a MultiNicBizConfig, or the obstacle. Pure: the input
 * includes what is already migrated, so an interrupted migration continues where it stopped.
 */
import { completeInterfaces, type Interface, interfaceFields } from '../../contract/interfaces.ts'
import {
  type BizConfig,
  type BizNode,
  type BizNodeStatus,
  bizConfigAnnotations,
} from '../../contract/legacy/biz-config.ts'
import { nodeSpecOf, parseIndexes } from '../../contract/legacy/biz-nodes.ts'
import { isSameMachine } from '../../contract/machine.ts'
import {
  type NodeConfig,
  nodeConfigAnnotations,
  nodeConfigGroup,
  nodeConfigLabels,
} from '../../contract/node-config.ts'
import { labelsOf, objectName } from '../../contract/node-names.ts'
import type { NodeObject } from '../../kube/types.ts'

/** A MultiNicBizConfig, and whether it is in the cluster. */
export interface Document {
  biz: BizConfig
  inCluster: boolean
}

export interface Migration {
  /** namespace/name of the BizConfig. */
  from: string
  nodeName: string
  attachedNodeId: string
  /** create: not started. wait: in progress. done: taken over. differs, blocked: needs attention. */
  action: 'create' | 'wait' | 'done' | 'differs' | 'blocked'
  message: string
  requested?: NodeConfig
  existing?: NodeConfig
}

export interface Found {
  documents: Document[]
  nodes: NodeObject[]
  configs: NodeConfig[]
  namespace: string
}

export function planMigration({ documents, nodes, configs, namespace }: Found): Migration[] {
  const seen: string[] = []
  return documents.flatMap(({ biz }) =>
    biz.spec.nodeConfigs.map((node, index) => {
      const machine = nodes.filter(one => isSameMachine(node.attachedNodeId, one.status?.nodeInfo?.systemUUID ?? ''))
      const nodeName = machine[0]?.metadata.name ?? node.attachedNodeName ?? node.attachedNodeId
      const about = { from: originOf(biz, namespace), nodeName, attachedNodeId: node.attachedNodeId }
      const again = seen.some(id => isSameMachine(id, node.attachedNodeId))
      seen.push(node.attachedNodeId)
      const requested = nodeConfigFor(biz, node, nodeName, namespace)
      const problem = again
        ? 'the node is listed twice'
        : (obstacle(node, machine, nodes) ?? mistakes(requested, `nodeConfigs[${index}]`))
      if (problem) return { ...about, action: 'blocked' as const, message: problem }
      return { ...about, ...stateOf(requested, existingFor(configs, requested)), requested }
    }),
  )
}

function originOf({ metadata }: BizConfig, namespace: string): string {
  return `${metadata.namespace ?? namespace}/${metadata.name}`
}

export function isFrom(config: NodeConfig, origin: string): boolean {
  return config.metadata.annotations?.[nodeConfigAnnotations.migratedFrom] === origin
}

export function recordFor(biz: BizConfig, nodeId: string): BizNodeStatus | undefined {
  return biz.status?.nodeStatuses?.find(({ attachedNodeId }) => isSameMachine(attachedNodeId, nodeId))
}

export function isReadOnly({ metadata }: BizConfig): boolean {
  return metadata.annotations?.[bizConfigAnnotations.readOnly] !== undefined
}

function obstacle({ attachedNodeName, attachedNodeId }: BizNode, machine: NodeObject[], nodes: NodeObject[]) {
  if (machine.length > 1)
    return `${machine.map(({ metadata }) => metadata.name).join(' and ')} both have the machine ID ${attachedNodeId}`
  if (machine.length === 1) return undefined
  const namesake = nodes.find(({ metadata }) => metadata.name === attachedNodeName)
  if (namesake)
    return `node ${attachedNodeName} has the machine ID ${namesake.status?.nodeInfo?.systemUUID}, not ${attachedNodeId}`
  return `no node of this cluster has the machine ID ${attachedNodeId}`
}

function mistakes({ spec }: NodeConfig, at: string): string | undefined {
  const { errors } = completeInterfaces(spec.interfaces, `${at}.interfaces`)
  return errors.length ? errors.map(({ path, message }) => `${path}: ${message}`).join('; ') : undefined
}

function nodeConfigFor(biz: BizConfig, node: BizNode, nodeName: string, namespace: string): NodeConfig {
  const known = parseIndexes(recordFor(biz, node.attachedNodeId)?.indexes)
  const spec = nodeSpecOf(biz, node, { nodeName, known })
  const { [nodeConfigLabels.providerId]: provider, ...labels } = labelsOf(
    { nodeName, instanceId: node.attachedNodeId },
    biz.spec.providerId ?? '',
  )
  return {
    apiVersion: `${nodeConfigGroup}/v1`,
    kind: 'MultiNicNodeConfig',
    metadata: {
      name: objectName(nodeName),
      namespace,
      labels: { ...labels, ...(biz.spec.providerId && provider && { [nodeConfigLabels.providerId]: provider }) },
      annotations: {
        [nodeConfigAnnotations.adopt]: 'true',
        [nodeConfigAnnotations.migratedFrom]: originOf(biz, namespace),
      },
    },
    spec: { ...spec, interfaces: spec.interfaces.map(nic => ({ ...nic, macAddress: nic.macAddress.toLowerCase() })) },
  }
}

function existingFor(configs: NodeConfig[], requested: NodeConfig): NodeConfig | undefined {
  const { nodeName, instanceId = '' } = requested.spec
  return configs.find(({ metadata, spec }) =>
    spec.instanceId
      ? isSameMachine(spec.instanceId, instanceId)
      : spec.nodeName === nodeName || metadata.name === requested.metadata.name,
  )
}

function stateOf(
  requested: NodeConfig,
  existing: NodeConfig | undefined,
): Pick<Migration, 'action' | 'message' | 'existing'> {
  if (!existing) return { action: 'create', message: 'a MultiNicNodeConfig is created and takes over the node' }
  const found = differences(requested, existing)
  if (found.length) return { action: 'differs', message: found.join('; '), existing }
  const ready = existing.status?.conditions?.find(({ type }) => type === 'Ready')
  if (isSettled(existing)) return { action: 'done', message: 'taken over', existing }
  return {
    action: 'wait',
    message: [ready?.reason, ready?.message].filter(Boolean).join(': ') || 'not checked yet',
    existing,
  }
}

export function isSettled({ metadata, status }: NodeConfig): boolean {
  return status?.state === 'Configured' && status.observedGeneration === metadata.generation
}

const compared = ['index', 'address', 'cidr', 'mtu', 'portId'] as const

/** Differences of an existing config. Fields that a MultiNicBizConfig does not have (routes, gateway) do not count. */
export function differences(requested: NodeConfig, existing: NodeConfig): string[] {
  const [ours, theirs] = [requested, existing].map(({ spec }) => completeInterfaces(spec.interfaces).interfaces)
  const byMac = (list: Interface[] = []) => new Map(list.map(nic => [nic.macAddress, nic]))
  const there = byMac(theirs)
  const here = byMac(ours)
  return [
    ...[...here.values()].flatMap(nic => {
      const other = there.get(nic.macAddress)
      if (!other) return [`${nic.name} (${nic.macAddress}) is missing`]
      return compared.flatMap(field =>
        nic[field] === undefined || nic[field] === other[field]
          ? []
          : [`${nic.macAddress}: ${interfaceFields[field]} is ${other[field] ?? 'not set'}, not ${nic[field]}`],
      )
    }),
    ...[...there.values()].flatMap(nic =>
      here.has(nic.macAddress) ? [] : [`${nic.name} (${nic.macAddress}) is additional`],
    ),
  ]
}
