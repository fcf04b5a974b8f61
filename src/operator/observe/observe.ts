/**
 * Reads what a sync decides on from the cloud: ports, subnets, networks and servers. Also checks whether a delivered port
 * that is missing from the list is still attached to its VM.
 */
import type { OpenstackConfigSpec } from '../../contract/openstack-config.ts'
import { messageOf } from '../../runtime/errors.ts'
import { giveWay } from '../../runtime/event-loop.ts'
import type { Attachment, Cloud, Network, Port } from '../cloud.ts'
import type { SyncSettings } from '../config.ts'
import {
  identityOf,
  type PortCheck,
  type SelectedSubnet,
  type SelectionRules,
  type SubnetPlaces,
  type Vm,
} from '../plan/observed-state.ts'
import type { MissingPort } from '../plan/removals.ts'
import { subnetRefsOf } from '../plan/subnet-refs.ts'
import { addressesIn, placesOf } from '../plan/verdicts.ts'
import { stage } from '../sync-error.ts'
import { selectedSubnets } from './subnets.ts'
import { type ObservedVms, type ObserveOptions, observeVms, selectedIds } from './vms.ts'

export interface CloudState extends ObservedVms {
  ports: Port[]
  subnets: SelectedSubnet[]
  subnetNames: Readonly<Record<string, string>>
  networks: ReadonlyMap<string, Network>
  clockBehindMs: number
}

export async function observeCloud(
  cloud: Cloud,
  spec: OpenstackConfigSpec,
  options: ObserveOptions,
): Promise<CloudState> {
  const { signal } = options
  const refs = subnetRefsOf(spec)
  await logIn(cloud, signal)
  const [observedVms, subnets] = await Promise.all([
    observeVms(cloud, spec, options),
    selectedSubnets(cloud, refs, signal),
  ])
  await giveWay()
  const vmIds = selectedIds(observedVms.vms)
  const networkIds = subnets.map(subnet => subnet.networkId)
  const [ports, networks] = await Promise.all([
    stage('NeutronPortError', () => cloud.portsOfServers(vmIds, signal)),
    stage('NeutronSubnetError', () => cloud.networks(networkIds, signal)),
  ])
  const named = refs.flatMap(({ id, name }, n): [string, string][] =>
    id === undefined && name && subnets[n] ? [[name, subnets[n].id]] : [],
  )
  const subnetNames = Object.fromEntries(named)
  return { ...observedVms, ports, subnets, subnetNames, networks, clockBehindMs: cloud.clockBehindMs() }
}

export function logIn(cloud: Cloud, signal: AbortSignal): Promise<void> {
  return stage('KeystoneError', () => cloud.check(signal))
}

interface CheckOptions {
  missing: readonly MissingPort[]
  state: CloudState
  /** Ports that a notification of the cloud reported as deleted. */
  deletedPorts: ReadonlySet<string>
  signal: AbortSignal
}

/**
 * Checks delivered ports that are missing from the list: asks Neutron by id, then Nova for its own list of the VM's
 * interfaces. A port is detached only if both do not have it. A port that cannot be checked stays unresolved. So does one that
 * is listed without an address in a selected subnet, unless Nova lists its addresses.
 *
 * A delete notification replaces Nova's answer if the list is complete: it has ports, and all missing ones were reported
 * as deleted.
 */
export async function checkMissingPorts(
  cloud: Cloud,
  { missing, state, deletedPorts, signal }: CheckOptions,
): Promise<{ ports: Port[]; portChecks: Map<string, PortCheck>; failures: string[] }> {
  const [byId, byMac] = await stage('NeutronPortError', () =>
    Promise.all([
      cloud.portsById(
        missing.flatMap(({ portId }) => portId ?? []),
        signal,
      ),
      cloud.portsByMac(
        missing.filter(({ portId }) => portId === undefined).map(({ macAddress }) => macAddress),
        signal,
      ),
    ]),
  )
  const found = [...byId, ...byMac]
  const foundById = Map.groupBy(found, port => port.id)
  const foundByMac = Map.groupBy(found, port => port.macAddress)
  const isDeleted = ({ portId }: MissingPort) => portId !== undefined && deletedPorts.has(portId)
  const isListComplete = state.ports.length > 0 && missing.every(isDeleted)
  const places = placesOf(state.subnets)
  const subnetIds = new Set(places.keys())
  const ports: Port[] = []
  const portChecks = new Map<string, PortCheck>()
  const failures: string[] = []
  const unresolved: MissingPort[] = []
  for (const one of missing) {
    const matching = (one.portId === undefined ? foundByMac.get(one.macAddress) : foundById.get(one.portId)) ?? []
    const attached = matching.find(port => port.serverId === one.vmId)
    if (one.port) {
      if (attached && hasAddressIn(attached, places)) portChecks.set(identityOf(one), 'attached')
      else unresolved.push(one)
      continue
    }
    // A port on another server gets a verdict. It does not prove that this interface is detached.
    ports.push(...(attached ? [attached] : matching))
    if (attached) continue
    if (isListComplete && isDeleted(one)) portChecks.set(identityOf(one), 'detached')
    else unresolved.push(one)
  }
  await Promise.all(
    [...Map.groupBy(unresolved, one => one.vmId)].map(async ([vmId, group]) => {
      try {
        if (vmId === '') return
        const attachments = await cloud.attachmentsOf(vmId, signal)
        const missing = attachments ? 'detached' : await checkOfMissingVm(cloud, vmId, state.vms, signal)
        if (missing === undefined) return
        const byPort = new Map(attachments?.map(one => [one.portId, one]))
        const byMac = new Map(attachments?.map(one => [one.macAddress, one]))
        for (const one of group) {
          const attachment = byPort.get(one.portId ?? '') ?? byMac.get(one.macAddress)
          const check = one.port ? addressCheck(attachment, subnetIds) : attachment ? 'attached' : missing
          if (check) portChecks.set(identityOf(one), check)
        }
      } catch (error) {
        failures.push(messageOf(error))
      }
    }),
  )
  return { ports, portChecks, failures }
}

function hasAddressIn(port: Port, places: SubnetPlaces): boolean {
  return 'subnet' in addressesIn(port, places)
}

/** Undefined if Nova lists no address of the port: its answer may be half of a change too. */
function addressCheck(attachment: Attachment | undefined, selected: ReadonlySet<string>): PortCheck | undefined {
  if (!attachment || attachment.subnetIds.length === 0) return undefined
  return attachment.subnetIds.some(id => selected.has(id)) ? 'attached' : 'withoutSubnet'
}

/** Whether Nova has a record of the deletion of each VM. One that cannot be checked is left out. */
export async function checkDeletedVms(
  cloud: Cloud,
  vmIds: readonly string[],
  signal: AbortSignal,
): Promise<{ deletedVms: Map<string, boolean>; failures: string[] }> {
  const deletedVms = new Map<string, boolean>()
  const failures: string[] = []
  for (const vmId of vmIds) {
    try {
      deletedVms.set(vmId, await cloud.wasDeleted(vmId, signal))
    } catch (error) {
      failures.push(messageOf(error))
    }
  }
  return { deletedVms, failures }
}

/**
 * A token that sees no server of this object (lost role, another project) does not prove that one was deleted. Then only
 * Nova's record of the deletion counts. Without it, the interfaces stay until the user removes the VM from vmNames.
 */
async function checkOfMissingVm(
  cloud: Cloud,
  vmId: string,
  vms: readonly Vm[],
  signal: AbortSignal,
): Promise<PortCheck | undefined> {
  const { deletedVms, failures } = await checkDeletedVms(cloud, [vmId], signal)
  if (deletedVms.get(vmId)) return 'deleted'
  const others = vms.flatMap(({ id }) => (id === undefined || id === vmId ? [] : [id])).slice(0, 3)
  if (others.length > 0 && (await cloud.seesServers(others, signal))) return 'detached'
  // An old Nova, or one that forbids it, does not answer what it recorded.
  const [failure] = failures
  if (failure !== undefined) throw new Error(failure)
  return undefined
}

/** The cloud stamps ports by its own clock. A baseline by ours would hide every port of a cloud whose clock is behind. */
export function rulesOf(
  settings: SyncSettings,
  createdAt: string | undefined,
  { clockBehindMs }: Pick<CloudState, 'clockBehindMs'>,
): SelectionRules {
  const text = settings.baseline === 'creationTime' ? createdAt : settings.baseline
  const baseline = text === undefined || text === 'none' ? Number.NaN : Date.parse(text)
  return {
    allowedStatuses: settings.allowedStatuses,
    owners: settings.owners,
    ...(!Number.isNaN(baseline) && { baseline: baseline - clockBehindMs }),
  }
}
