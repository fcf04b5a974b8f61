/**
 * Reads all that a sync decides on: ports, subnets, networks and servers of the cloud; and, when a delivered port is not
 * in the listing, whether it is still on its VM.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'
import type { Cloud } from '../openstack/cloud.ts'
import type { Server } from '../openstack/nova.ts'
import { messageOf } from '../runtime/errors.ts'
import type { SyncSettings } from './config.ts'
import { type Answer, identityOf, type Port, type Rules, type Subnet, type VmFact } from './observed-state.ts'
import type { Question } from './plan.ts'
import { SyncError, stage } from './sync-error.ts'

export interface CloudFacts {
  vms: VmFact[]
  ports: Port[]
  subnets: Subnet[]
  subnetsById: boolean
  mtus: Map<string, number>
  /** Nova could not be asked: known nodes keep their names, the others wait. */
  novaError?: SyncError
}

type Spec = OpenstackConfig['spec']

export async function observeCloud(
  cloud: Cloud,
  spec: Spec,
  settings: SyncSettings,
  signal: AbortSignal,
): Promise<CloudFacts> {
  const selector = selectorOf(spec)
  await stage('KeystoneError', () => cloud.check(signal))
  const [{ vms, novaError }, subnets] = await Promise.all([
    observeVms(cloud, spec, settings, signal),
    chosenSubnets(cloud, selector, signal),
  ])
  const vmIds = vms.flatMap(vm => vm.id ?? [])
  const subnetIds = subnets.map(subnet => subnet.id)
  const networkIds = subnets.map(subnet => subnet.networkId)
  const [ports, networks] = await Promise.all([
    stage('NeutronPortError', () => cloud.portsOfVms(vmIds, subnetIds, signal)),
    stage('NeutronSubnetError', () => cloud.networks(networkIds, signal)),
  ])
  const mtus = new Map([...networks.values()].flatMap(({ id, mtu }) => (mtu === undefined ? [] : [[id, mtu]])))
  return { vms, ports, subnets, subnetsById: 'ids' in selector, mtus, ...(novaError && { novaError }) }
}

type Selector = { ids: string[] } | { name: string }

/** The first that is set wins. */
export function selectorOf(spec: Spec): Selector {
  const ids = [...new Set((spec.subnetIDs ?? []).map(id => id.trim()).filter(id => id !== ''))]
  if (ids.length > 0) return { ids }
  if (spec.subnetID?.trim()) return { ids: [spec.subnetID.trim()] }
  if (spec.subnetName?.trim()) return { name: spec.subnetName.trim() }
  throw new SyncError('SubnetRequired', 'no subnet is chosen; set subnetIDs, subnetID or subnetName')
}

async function chosenSubnets(cloud: Cloud, selector: Selector, signal: AbortSignal): Promise<Subnet[]> {
  if ('name' in selector) {
    const found = await stage('NeutronSubnetError', () => cloud.subnetsByName(selector.name, signal))
    if (found.length === 0)
      throw new SyncError('SubnetNotFound', `no subnet of the project is called ${selector.name}; correct subnetName`)
    if (found.length > 1)
      throw new SyncError(
        'SubnetNotUnique',
        `${found.length} subnets are called ${selector.name}: ${found.map(subnet => subnet.id).join(', ')}; choose one by subnetID`,
      )
    return found
  }
  const found = await stage('NeutronSubnetError', () => cloud.subnets(selector.ids, signal))
  const missing = selector.ids.filter(id => !found.has(id))
  if (missing.length > 0)
    throw new SyncError(
      'SubnetNotFound',
      `Neutron knows no subnet ${missing.join(', ')}; correct subnetIDs or subnetID`,
    )
  return selector.ids.flatMap(id => found.get(id) ?? [])
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** A server's id as Nova and Neutron spell it; undefined for an entry that is a name. */
export function serverIdOf(entry: string): string | undefined {
  return uuid.test(entry.trim()) ? entry.trim().toLowerCase() : undefined
}

async function observeVms(
  cloud: Cloud,
  spec: Spec,
  settings: SyncSettings,
  signal: AbortSignal,
): Promise<{ vms: VmFact[]; novaError?: SyncError }> {
  const entries = [...new Set(spec.vmNames.map(entry => entry.trim()).filter(entry => entry !== ''))]
  const ids = entries.flatMap(entry => serverIdOf(entry) ?? [])
  const names = entries.filter(entry => serverIdOf(entry) === undefined)
  let novaError: SyncError | undefined
  const asked = async <T>(work: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await stage('NovaError', work)
    } catch (error) {
      // Keystone and Contrabass are everybody's trouble; Nova's alone only keeps new VMs waiting.
      if (!(error instanceof SyncError) || error.reason !== 'NovaError') throw error
      novaError = error
      return undefined
    }
  }
  const [servers, ...named] = await Promise.all([
    asked(() => cloud.servers(ids, signal)),
    ...names.map(async name => ({ name, servers: await asked(() => cloud.serversByName(name, signal)) })),
  ])
  const key = settings.nodeNameMetadataKey
  const nodeName = ({ metadata, name, id }: Server) =>
    (Object.hasOwn(metadata, key) && metadata[key]?.trim()) || name.trim() || id
  const byId = ids.map((id): VmFact => {
    const server = servers?.get(id)
    if (!servers) return { entry: id, id, state: 'unknown' }
    return server ? { entry: id, id, state: 'known', name: nodeName(server) } : { entry: id, id, state: 'gone' }
  })
  const byName = named.map(({ name, servers: found }): VmFact => {
    const [first] = found ?? []
    if (!found) return { entry: name, state: 'unknown' }
    if (!first) return { entry: name, state: 'gone' }
    if (found.length > 1) return { entry: name, state: 'notUnique' }
    return { entry: name, id: first.id, state: 'known', name: nodeName(first) }
  })
  const vms = [...byId, ...byName.filter(vm => vm.id === undefined || !ids.includes(vm.id))]
  return { vms, ...(novaError && { novaError }) }
}

interface Asking {
  questions: readonly Question[]
  facts: CloudFacts
  /** Ports that the cloud's notices said were deleted. */
  deletedPorts: ReadonlySet<string>
  signal: AbortSignal
}

/**
 * Asks for delivered ports that the listing does not show: Neutron by id, then Nova for its own list of the VM's
 * interfaces. Only what both know nothing of is detached; what cannot be asked stays a question. A notice of the deletion
 * stands for Nova's word when the listing is complete: it shows ports, and lacks none but those that were said to be gone.
 */
export async function askAbout(
  cloud: Cloud,
  { questions, facts, deletedPorts, signal }: Asking,
): Promise<{ ports: Port[]; answers: Map<string, Answer>; failures: string[] }> {
  const [byId, byMac] = await stage('NeutronPortError', () =>
    Promise.all([
      cloud.portsById(
        questions.flatMap(({ portId }) => portId ?? []),
        signal,
      ),
      cloud.portsByMac(
        questions.filter(({ portId }) => portId === undefined).map(({ macAddress }) => macAddress),
        signal,
      ),
    ]),
  )
  const found = [...byId, ...byMac]
  const told = ({ portId }: Question) => portId !== undefined && deletedPorts.has(portId)
  const complete = facts.ports.length > 0 && questions.every(told)
  const ports: Port[] = []
  const answers = new Map<string, Answer>()
  const failures: string[] = []
  const absent: Question[] = []
  for (const question of questions) {
    const about = found.filter(one => isAbout(question, one))
    const here = about.find(one => one.deviceId === question.vmId)
    // One that is elsewhere now is told of; it takes nothing away by itself.
    ports.push(...(here ? [here] : about))
    if (here) continue
    if (complete && told(question)) answers.set(identityOf(question), 'detached')
    else absent.push(question)
  }
  await Promise.all(
    [...Map.groupBy(absent, question => question.vmId)].map(async ([vmId, group]) => {
      try {
        if (vmId === '') return
        const attached = await cloud.interfacesOf(vmId, signal)
        if (!attached && !(await isGone(cloud, vmId, facts.vms, signal))) return
        for (const question of group) {
          const there = attached?.some(one => one.portId === question.portId || one.macAddress === question.macAddress)
          answers.set(identityOf(question), there ? 'attached' : 'detached')
        }
      } catch (error) {
        failures.push(messageOf(error))
      }
    }),
  )
  return { ports, answers, failures }
}

/**
 * A token that sees no server at all of this object (a lost role, another project) cannot tell that one is gone: then only
 * Nova's own memory of the deletion counts. Without either the interfaces stay until the VM is taken out of vmNames.
 */
async function isGone(cloud: Cloud, vmId: string, vms: readonly VmFact[], signal: AbortSignal): Promise<boolean> {
  const others = vms.flatMap(({ id }) => (id === undefined || id === vmId ? [] : [id])).slice(0, 3)
  if (others.length > 0 && (await cloud.seesServers(others, signal))) return true
  return cloud.wasDeleted(vmId, signal)
}

function isAbout(question: Question, port: Port): boolean {
  return question.portId === undefined ? port.macAddress === question.macAddress : port.id === question.portId
}

export function rulesOf(settings: SyncSettings, createdAt: string | undefined): Rules {
  const text = settings.baseline === 'creationTime' ? createdAt : settings.baseline
  const baseline = text === undefined || text === 'none' ? Number.NaN : Date.parse(text)
  return {
    allowedStatuses: settings.allowedStatuses,
    owners: settings.owners,
    ...(!Number.isNaN(baseline) && { baseline }),
  }
}
