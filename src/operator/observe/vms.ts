/**
 * The VMs of an OpenstackConfig: those that vmNames lists, and those that vmSelector selects.
 *
 * A VM that was delivered and that the list of selected servers lacks is read by its ID: only a server that does not meet the
 * conditions has left the selection.
 */
import { serverIdOf, spellingsOf } from '../../contract/machine.ts'
import type { OpenstackConfigSpec } from '../../contract/openstack-config.ts'
import { isDecidable, isSelected, type ServerSelector } from '../../contract/server-selector.ts'
import type { ViolaClusterNode } from '../../contract/viola.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Cloud, Server } from '../cloud.ts'
import type { SyncSettings } from '../config.ts'
import type { Vm } from '../plan/observed-state.ts'
import { configError, SyncError, stage } from '../sync-error.ts'
import type { ClusterNodes } from '../viola/viola-client.ts'

export interface ObservedVms {
  vms: Vm[]
  /** Nodes of the cluster that are no selected VM. */
  nodesWithoutVm: ViolaClusterNode[]
  /** The compute service, or Viola about Nodes, did not answer: known nodes keep their names, new VMs wait. */
  vmsError?: SyncError
}

export interface ObserveOptions {
  settings: SyncSettings
  /** Only a selector asks: it may select them no longer. */
  deliveredVms: () => readonly string[]
  /** For clusterNodes, or why they are not known. */
  clusterNodes?: ClusterNodes | SyncError | undefined
  signal: AbortSignal
}

export async function observeVms(
  cloud: Cloud,
  { vmNames = [], vmSelector }: OpenstackConfigSpec,
  { settings, deliveredVms, clusterNodes, signal }: ObserveOptions,
): Promise<ObservedVms> {
  const entries = [...new Set(vmNames.map(entry => entry.trim()).filter(entry => entry !== ''))]
  if (entries.length === 0 && !vmSelector) throw configError(['spec: one of vmNames and vmSelector is required'])
  const { clusterNodes: byNodes, ...conditions } = vmSelector ?? {}
  const hasConditions = hasCondition(conditions)
  if (vmSelector && !byNodes && !hasConditions)
    throw configError(['spec.vmSelector: one of namePattern, metadata, tags and clusterNodes is required'])
  const ids: string[] = []
  const names: string[] = []
  for (const entry of entries) {
    const id = serverIdOf(entry)
    if (id === undefined) names.push(entry)
    else ids.push(id)
  }
  const nodes = clusterNodes instanceof SyncError ? undefined : clusterNodes
  const isNode = ({ id }: Server) => !byNodes || (nodes?.machines.has(id.toLowerCase()) ?? false)
  let vmsError = clusterNodes instanceof SyncError ? clusterNodes : undefined
  const unlessComputeFails = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await stage('NovaError', work)
    } catch (error) {
      // Without Keystone or Contrabass the whole sync fails. Without Nova only new VMs wait.
      if (!(error instanceof SyncError) || error.reason !== 'NovaError') throw error
      vmsError = error
      return undefined
    }
  }
  const [servers, listed, ...named] = await Promise.all([
    unlessComputeFails(() => cloud.servers(ids, signal)),
    vmSelector && (!byNodes || nodes) && unlessComputeFails(() => cloud.serversMatching(conditions, signal)),
    ...names.map(async name => ({
      name,
      servers: await unlessComputeFails(() => cloud.serversByName(name, signal)),
    })),
  ])
  await giveWay()
  const found = (server: Server): Vm => ({
    entry: server.id,
    id: server.id,
    state: 'found',
    name: nodeNameOf(server, settings.nodeNameMetadataKey),
    serverName: server.name,
  })
  const byId = ids.map((id): Vm => {
    const server = servers?.get(id)
    if (!servers) return { entry: id, id, state: 'unknown' }
    return server ? found(server) : { entry: id, id, state: 'notFound' }
  })
  const byName = named.map(({ name, servers: namesakes }): Vm => {
    const [first] = namesakes ?? []
    if (!namesakes) return { entry: name, state: 'unknown' }
    if (!first) return { entry: name, state: 'notFound' }
    return namesakes.length > 1 ? { entry: name, state: 'notUnique' } : { ...found(first), entry: name }
  })
  const matching = listed?.filter(isNode)
  const vms = firstOfEach([...byId, ...byName, ...(matching ?? []).map(found)])
  const known = new Set(vms.map(vm => vm.id))
  const former = vmSelector ? deliveredVms().filter(id => !known.has(id)) : []
  const hasLeft = (server: Server) => hasConditions && !isSelected(server, conditions)
  const read = conditions.tags?.length ? cloud.serversWithTags : cloud.servers
  const left = matching && (await unlessComputeFails(() => read(former, signal)))
  for (const id of former) {
    const server = left?.get(id)
    if (!left || (server && !isDecidable(server, conditions))) vms.push({ entry: id, id, state: 'unknown' })
    else if (!server) vms.push({ entry: id, id, state: 'notFound' })
    else if (!isNode(server)) vms.push({ ...found(server), hasLeft: 'cluster' })
    else vms.push({ ...found(server), ...(hasLeft(server) && { hasLeft: 'selector' }) })
  }
  const nodesWithoutVm = (nodes?.items ?? []).filter(hasNoVm(matching && vms))
  return { vms, nodesWithoutVm, ...(vmsError && { vmsError }) }
}

/** Without the servers of the project, only a Node that cannot be any of them is known to have no VM. */
function hasNoVm(vms: readonly Vm[] | undefined): (node: ViolaClusterNode) => boolean {
  const known = new Set(vms?.map(({ id }) => id))
  return ({ systemUUID }) =>
    serverIdOf(systemUUID) === undefined || (vms !== undefined && !spellingsOf(systemUUID).some(id => known.has(id)))
}

/** Without one, it would select every server of the project. An API server without validation rules stores it. */
function hasCondition({ namePattern = '', metadata = {}, tags = [] }: ServerSelector): boolean {
  return namePattern !== '' || Object.keys(metadata).length > 0 || tags.length > 0
}

/** The servers that are selected now. */
export function selectedIds(vms: readonly Vm[]): string[] {
  return vms.flatMap(({ id, hasLeft }) => (id === undefined || hasLeft ? [] : [id]))
}

function firstOfEach(vms: readonly Vm[]): Vm[] {
  const seen = new Set<string>()
  return vms.filter(({ id }) => {
    if (id === undefined) return true
    if (seen.has(id)) return false
    seen.add(id)
    return true
  })
}

function nodeNameOf({ metadata = {}, name, id }: Server, metadataKey: string): string {
  return (Object.hasOwn(metadata, metadataKey) && metadata[metadataKey]?.trim()) || name.trim() || id
}
