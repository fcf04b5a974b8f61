/**
 * What a migration comes to, node by node: the MultiNicNodeConfig that each node of a MultiNicBizConfig would get, and what is in
 * the way. Pure: what is done already is read from the cluster, so an interrupted migration goes on where it was.
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

/** A BizConfig, and whether the cluster has it. */
export interface Document {
  biz: BizConfig
  inCluster: boolean
}

export interface Migration {
  /** namespace/name of the BizConfig. */
  from: string
  nodeName: string
  attachedNodeId: string
  /** create: not begun. wait: begun. done: taken over. differs and blocked: a person has to look. */
  action: 'create' | 'wait' | 'done' | 'differs' | 'blocked'
  message: string
  wanted?: NodeConfig
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
      const wanted = nodeConfigFor(biz, node, nodeName, namespace)
      const problem = again
        ? 'the node is named twice'
        : (obstacle(node, machine, nodes) ?? mistakes(wanted, `nodeConfigs[${index}]`))
      if (problem) return { ...about, action: 'blocked' as const, message: problem }
      return { ...about, ...stateOf(wanted, existingFor(configs, wanted)), wanted }
    }),
  )
}

export function originOf({ metadata }: BizConfig, namespace: string): string {
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
    return `${machine.map(({ metadata }) => metadata.name).join(' and ')} both say that they are ${attachedNodeId}`
  if (machine.length === 1) return undefined
  const namesake = nodes.find(({ metadata }) => metadata.name === attachedNodeName)
  if (namesake)
    return `node ${attachedNodeName} is machine ${namesake.status?.nodeInfo?.systemUUID}, not ${attachedNodeId}`
  return `no node of this cluster is machine ${attachedNodeId}`
}

function mistakes({ spec }: NodeConfig, at: string): string | undefined {
  const { errors } = completeInterfaces(spec.interfaces, `${at}.interfaces`)
  return errors.length ? errors.map(({ path, message }) => `${path}: ${message}`).join('; ') : undefined
}

function nodeConfigFor(biz: BizConfig, node: BizNode, nodeName: string, namespace: string): NodeConfig {
  const known = parseIndexes(recordFor(biz, node.attachedNodeId)?.numbers)
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

function existingFor(configs: NodeConfig[], wanted: NodeConfig): NodeConfig | undefined {
  const { nodeName, instanceId = '' } = wanted.spec
  return configs.find(({ metadata, spec }) =>
    spec.instanceId
      ? isSameMachine(spec.instanceId, instanceId)
      : spec.nodeName === nodeName || metadata.name === wanted.metadata.name,
  )
}

function stateOf(
  wanted: NodeConfig,
  existing: NodeConfig | undefined,
): Pick<Migration, 'action' | 'message' | 'existing'> {
  if (!existing) return { action: 'create', message: 'a MultiNicNodeConfig is made, and takes the node over' }
  const found = differences(wanted, existing)
  if (found.length) return { action: 'differs', message: found.join('; '), existing }
  const ready = existing.status?.conditions?.find(({ type }) => type === 'Ready')
  if (isSettled(existing)) return { action: 'done', message: 'taken over', existing }
  return {
    action: 'wait',
    message: [ready?.reason, ready?.message].filter(Boolean).join(': ') || 'not looked at yet',
    existing,
  }
}

export function isSettled({ metadata, status }: NodeConfig): boolean {
  return status?.state === 'Configured' && status.observedGeneration === metadata.generation
}

const compared = ['index', 'address', 'cidr', 'mtu', 'portId'] as const

/** In what an existing config asks for something else. What it has beyond a BizConfig (routes, a gateway) is its own. */
export function differences(wanted: NodeConfig, existing: NodeConfig): string[] {
  const [ours, theirs] = [wanted, existing].map(({ spec }) => completeInterfaces(spec.interfaces).interfaces)
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
      here.has(nic.macAddress) ? [] : [`${nic.name} (${nic.macAddress}) is more`],
    ),
  ]
}
