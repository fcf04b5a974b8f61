/**
 * What a sync found out, for the status of its OpenstackConfig.
 */

import { serverIdOf } from '../../contract/machine.ts'
import {
  type OpenstackConfig,
  openstackConfigAnnotations,
  type ReservedIndex,
} from '../../contract/openstack-config.ts'
import type { RenumberStatus } from '../../contract/renumber-status.ts'
import { withoutSlash } from '../../contract/url.ts'
import { keyOf } from '../../kube/keys.ts'
import type { SyncSettings } from '../config.ts'
import type { DeliveryResult } from '../deliver/deliver-plan.ts'
import type { EventsState } from '../events/cloud-events.ts'
import { isNewObject, removalApprovalOf } from '../observe/inspect.ts'
import type { Inspection } from '../observe/inspection.ts'
import type { Observed } from '../plan/observed-state.ts'
import { type Findings, type NodeState, stateOf, type Target } from '../record/sync-outcome.ts'
import { nextRenumbering } from './renumbering.ts'

export function findingsOf(
  config: OpenstackConfig,
  { settings, providerId, nodesReported, observed }: Inspection,
  result: DeliveryResult,
  events: EventsState | undefined,
  now: Date,
): Findings {
  const { plan, delivery } = result
  const source = keyOf(config)
  const ours = result.nodes.filter(({ node }) => node.interfaces.some(nic => nic.source === source))
  const nodes = ours.map(({ node, plan: planned }): NodeState => {
    const isRemoved = planned.action === 'remove' || delivery.removed.has(node.nodeName)
    return isRemoved ? { nodeName: node.nodeName, state: 'Pending', reason: 'Removing' } : stateOf(node)
  })
  const conflicting = [...delivery.conflicts].map(
    ([nodeName, message]): NodeState => ({ nodeName, state: 'Pending', message }),
  )
  const approval = removalApprovalOf(config)
  const renumber = renumberingOf(config, result, nodesReported)
  return {
    verdicts: plan.verdicts,
    nodes: [...nodes.filter(({ nodeName }) => !delivery.conflicts.has(nodeName)), ...conflicting],
    nodesReported,
    events,
    removalsOnHold: plan.removalsOnHold,
    approveCommand: approveCommand(config),
    resolvedNames: resolvedNamesOf(observed, result),
    resolvedSubnets: resolvedSubnetsOf(observed, result),
    reservedIndexes: reservedIndexesOf(config, observed, result, now),
    target: targetOf(settings, providerId),
    targetKnown: observed.delivered.some(
      node => !node.isUnconfirmed && node.interfaces.some(nic => nic.source === source),
    ),
    refusedRemovals: [...delivery.refused].map(([node, message]) => `${node}: ${message}`),
    ...(approval !== undefined && { approval }),
    ...(renumber && { renumber }),
  }
}

function renumberingOf(
  config: OpenstackConfig,
  result: DeliveryResult,
  nodesReported: boolean,
): RenumberStatus | undefined {
  const { metadata, status } = config
  const annotation = metadata.annotations?.[openstackConfigAnnotations.renumber]
  const before = status?.renumber
  if (annotation === undefined && !before) return undefined
  const nodes = result.nodes.map(({ node }) => node)
  const reasonBefore = status?.conditions?.find(({ type }) => type === 'Renumbering')?.reason
  const isNew = isNewObject(config)
  return nextRenumbering({ annotation, before, isNew, reasonBefore, plan: result.plan, nodes, nodesReported })
}

/** A name keeps its former server while the interfaces of that server are still delivered. */
function resolvedNamesOf({ source, vms, resolvedNames }: Observed, result: DeliveryResult): Record<string, string> {
  const delivered = new Set(
    result.nodes
      .filter(({ node, plan }) => plan.action !== 'remove' && node.interfaces.some(nic => nic.source === source))
      .map(({ node }) => node.instanceId),
  )
  const names = vms.filter(({ entry }) => serverIdOf(entry) === undefined)
  return Object.fromEntries(
    names.flatMap(({ entry, id }) => {
      const before = Object.hasOwn(resolvedNames, entry) ? resolvedNames[entry] : undefined
      const server = before !== undefined && delivered.has(before) ? before : (id ?? before)
      return server === undefined ? [] : [[entry, server]]
    }),
  )
}

/** A name keeps its former subnet while the interfaces of that subnet are still delivered. */
function resolvedSubnetsOf({ source, subnetNames, resolvedSubnets }: Observed, result: DeliveryResult) {
  const former = Object.entries(resolvedSubnets).filter(([name, id]) => subnetNames[name] !== id)
  if (former.length === 0) return subnetNames
  const delivered = new Set(
    result.nodes.flatMap(({ node, plan }) =>
      plan.action === 'remove' ? [] : node.interfaces.flatMap(nic => (nic.source === source ? nic.subnetId : [])),
    ),
  )
  return { ...subnetNames, ...Object.fromEntries(former.filter(([, id]) => delivered.has(id))) }
}

/** How long the index of a removed interface stays reserved for its port. */
const reservedMs = 10 * 60_000

/** `observed` is from before the delivery. A VM whose deletion Nova recorded does not return. */
function reservedIndexesOf(
  { status }: OpenstackConfig,
  { source, delivered, portChecks, deletedVms }: Observed,
  { nodes, changed }: DeliveryResult,
  now: Date,
): ReservedIndex[] {
  const until = new Date(now.getTime() + reservedMs).toISOString()
  const before = (status?.reservedIndexes ?? []).filter(one => Date.parse(one.until) > now.getTime())
  const removed = delivered.flatMap(({ nodeName, instanceId: vmId = '', interfaces }) =>
    changed.has(nodeName) && !deletedVms.get(vmId)
      ? interfaces.flatMap(({ portId, index, source: by }) =>
          portId !== undefined && by === source && portChecks.get(portId) !== 'deleted'
            ? { vmId, portId, index, until }
            : [],
        )
      : [],
  )
  const all = new Map([...before, ...removed].map(one => [`${one.vmId} ${one.portId}`, one]))
  if (all.size > 0)
    for (const { node, plan } of nodes)
      if (plan.action !== 'remove') for (const { portId } of node.interfaces) all.delete(`${node.instanceId} ${portId}`)
  return [...all.values()]
}

function approveCommand({ metadata: { name, namespace = 'default' } }: OpenstackConfig): string {
  const annotation = `${openstackConfigAnnotations.approveRemovals}="$(date +%s)"`
  return `kubectl -n ${namespace} annotate osc ${name} ${annotation} --overwrite`
}

/** Users see it, so it contains no credentials and no query. */
export function targetOf({ violaEndpoint }: SyncSettings, providerId: string): Target {
  const { origin, pathname } = new URL(violaEndpoint)
  return { viola: `${origin}${withoutSlash(pathname)}`, providerId }
}
