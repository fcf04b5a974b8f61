/**
 * Checks of `multinic doctor`: facts of a cluster in, findings with remedies out. Pure.
 */
import { backendOf } from '../../contract/backend.ts'
import { completeInterfaces } from '../../contract/interfaces.ts'
import { internalIpRemedy, internalIpsOf, requestedAmong } from '../../contract/internal-ips.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { NodeObject } from '../../kube/types.ts'
import { bad, type Finding, ok, some, unreadable, warn } from './finding.ts'
import { aboutConfigs } from './node-configs.ts'
import { aboutPodAddresses, type PodNetworks } from './pod-addresses.ts'
import { aboutSources } from './services.ts'

export interface Definition {
  name: string
  /** Versions of this program, the stored one first. */
  known: readonly string[]
  /** Absent if the CRD is not in the cluster. */
  served?: { versions: readonly string[]; stored?: string | undefined; established: boolean }
}

export interface Workload {
  name: string
  /** controller, operator, viola or inventory. */
  component?: string
  /** Its ServiceAccount. */
  account?: string
  /** Options of a controller that need rights of their own, and where: by default in its namespace. */
  options?: readonly { name: string; namespaces?: readonly string[] }[]
  /** WATCH_NAMESPACES of an operator: it needs rights to objects and Secrets only there. */
  watchedNamespaces?: readonly string[]
  /** Port of its Pods that serves /readyz. */
  readyzAt?: { port: number; tls: boolean }
  desired: number
  ready: number
}

/** Required rights that a ServiceAccount lacks, or why they are unknown. */
export type ComponentRights = { account: string; missing: readonly string[] } | { account: string; unknown: string }

/** What /readyz of a component says, or why it is unknown. */
export type Readiness =
  | { name: string; missing: readonly string[]; warnings?: readonly string[] }
  | { name: string; unknown: string }

/**
 * Whether an admission policy limits what the account of a component can create: yes, no, or not offered by this API server.
 * Undefined if that is not readable.
 */
export type PolicyState = 'bound' | 'unbound' | 'unsupported' | undefined

/** What an operator may do with Secrets. */
export interface SecretAccess {
  account: string
  /** It may read every Secret of the cluster. */
  all: boolean
  /** Secrets of other components that it may read, with their namespace and their component. */
  others: readonly { namespace: string; name: string; component: string }[]
  /** It may write Secrets. */
  writes: boolean
  policy: PolicyState
}

export interface ClusterFacts {
  version: { major: number; minor: number }
  /** How far the clock of this machine is ahead of the API server. */
  clockAheadMs: number
  definitions: readonly Definition[]
  /** Undefined if they are not readable. */
  workloads: readonly Workload[] | 'not served' | undefined
  rights: readonly ComponentRights[]
  readiness: readonly Readiness[]
  agentPolicy: PolicyState
  secretAccess: readonly SecretAccess[]
  podSecurity: string | undefined
  nodes: readonly NodeObject[] | undefined
  configs: readonly NodeConfig[] | undefined
  sources: readonly OpenstackConfig[] | undefined
  podNetworks: PodNetworks
}

const minMinor = 20
const maxSkewMs = 30_000
/** Older kernels lack noprefixroute for IPv4. */
const minKernel = [4, 18] as const
/** Of the images. */
const architectures = ['amd64', 'arm64']
/** The prerequisites of nodes, in the words of docs/guides/install.md. */
const need = {
  kernel: `nodes need Linux kernel ${minKernel.join('.')} or newer`,
  architecture: `nodes need architecture ${architectures.join(' or ')}`,
  systemUUID: 'nodes need a SystemUUID of their own',
}

export function findingsOf(facts: ClusterFacts, namespace: string, now: Date): Finding[] {
  return [
    aboutVersion(facts),
    aboutClock(facts),
    ...facts.definitions.map(aboutDefinition),
    ...aboutWorkloads(facts.workloads, namespace),
    ...facts.readiness.flatMap(found => aboutReadiness(found, namespace)),
    ...facts.rights.map(aboutRights),
    ...(runsAgents(facts, namespace) ? aboutPodSecurity(facts.podSecurity, namespace) : []),
    ...aboutAgentPolicy(facts, namespace),
    ...facts.secretAccess.flatMap(aboutSecretAccess),
    ...aboutNodes(facts.nodes),
    ...aboutBackends(facts.nodes),
    ...aboutInternalIps(facts),
    ...aboutConfigs(facts.configs, now),
    ...aboutSources(facts.sources, now),
    ...aboutPodAddresses(facts.podNetworks, facts.configs),
  ]
}

function aboutVersion({ version: { major, minor } }: ClusterFacts): Finding {
  const name = `Kubernetes ${major}.${minor}`
  if (major > 1 || minor >= minMinor) return ok(`${name} responds`)
  return bad(`${name} is too old`, `upgrade the cluster to 1.${minMinor} or newer`)
}

function aboutClock({ clockAheadMs }: ClusterFacts): Finding {
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000)
  if (Math.abs(clockAheadMs) <= maxSkewMs) return ok('clocks are in sync')
  return warn(
    `the clock of this machine is ${seconds} s ${clockAheadMs > 0 ? 'ahead of' : 'behind'} the API server`,
    'synchronise both clocks by NTP: tokens, leases and port ages depend on the time',
  )
}

function aboutDefinition({ name, known, served }: Definition): Finding {
  const remedy = 'run make install, or helm upgrade with crds.install'
  if (!served) return warn(`CRD ${name} is not in this cluster`, remedy)
  if (!served.established) return bad(`CRD ${name} is not established`, 'run kubectl describe crd')
  const missing = known.filter(version => !served.versions.includes(version))
  if (missing.length > 0)
    return bad(`CRD ${name} does not serve ${missing.join(', ')}: it is older than this program`, remedy)
  if (served.stored !== known[0])
    return bad(`CRD ${name} stores ${served.stored}, not ${known[0]}: another version is installed`, remedy)
  return ok(`CRD ${name} serves ${served.versions.join(', ')}`)
}

/** Only the namespace of a controller has Pods of the agent. */
function runsAgents({ workloads, configs = [] }: ClusterFacts, namespace: string): boolean {
  if (typeof workloads === 'object') return workloads.some(({ component }) => component === 'controller')
  return configs.some(({ metadata }) => metadata.namespace === namespace)
}

function aboutWorkloads(workloads: ClusterFacts['workloads'], namespace: string): Finding[] {
  if (workloads === 'not served')
    return [
      warn(
        'this API server does not serve Deployments: the components cannot be checked',
        'check the --kubeconfig, or use -n NAMESPACE of a cluster in which MultiNIC runs',
      ),
    ]
  if (workloads === undefined) return [unreadable('Deployments')]
  if (workloads.length === 0)
    return [warn(`no component of MultiNIC runs in ${namespace}`, 'choose another namespace with --namespace')]
  return workloads.map(({ name, desired, ready }) =>
    ready >= desired
      ? ok(`${name}: ${ready} of ${desired} ready`)
      : bad(
          `${name}: ${ready} of ${desired} ready`,
          `run kubectl -n ${namespace} describe deployment ${name}; kubectl -n ${namespace} logs deployment/${name}`,
        ),
  )
}

function aboutReadiness(found: Readiness, namespace: string): Finding[] {
  const { name } = found
  if ('unknown' in found) return [warn(`cannot read /readyz of ${name}: ${found.unknown}`, proxyRemedy)]
  if (found.missing.length > 0) {
    const remedy = `run kubectl -n ${namespace} logs deployment/${name}`
    return found.missing.map(missing => bad(`${name} is not ready: ${missing}`, remedy))
  }
  const { warnings = [] } = found
  if (warnings.length === 0) return [ok(`${name} reports no warning`)]
  return warnings.map(warning => warn(`${name} warns: ${warning}`))
}

const proxyRemedy = 'use an account that may list pods and get pods/proxy, or forward the port and set --url'

function aboutRights(found: ComponentRights): Finding {
  const { account } = found
  if ('unknown' in found) return warn(`cannot review the rights of ${account}: ${found.unknown}`, reviewRemedy)
  if (found.missing.length === 0) return ok(`${account} has all required rights`)
  return bad(
    `${account} lacks the right to ${some(found.missing)}`,
    'restore its roles: run helm upgrade with the chart of this version, or make deploy',
  )
}

const reviewRemedy = 'use an account that may create subjectaccessreviews'

function aboutPodSecurity(enforced: string | undefined, namespace: string): Finding[] {
  if (enforced === 'privileged') return [ok(`namespace ${namespace} allows the Pods of the agent`)]
  const label = `run kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged --overwrite`
  if (enforced !== undefined)
    return [bad(`Pod Security of namespace ${namespace} is ${enforced}: the Pods of the agent are refused`, label)]
  return [warn(`namespace ${namespace} has no Pod Security label: the cluster default applies`, label)]
}

function aboutAgentPolicy({ agentPolicy, workloads, version }: ClusterFacts, namespace: string): Finding[] {
  if (typeof workloads !== 'object') return []
  const controller = workloads.find(({ component }) => component === 'controller')
  if (!controller) return []
  if (agentPolicy === 'bound') return [ok(`an admission policy limits ${controller.account} to agent Jobs`)]
  if (agentPolicy === undefined) return [unreadable('ValidatingAdmissionPolicies')]
  const what = `no admission policy limits the Jobs of ${controller.account}: its token is root on every node`
  const older = `upgrade Kubernetes ${version.major}.${version.minor} to 1.30 or newer, or limit Jobs in ${namespace} with the policy engine of the cluster (docs/guides/security.md)`
  const remedy =
    agentPolicy === 'unsupported' ? older : 'run helm upgrade, or kubectl apply -f config/admission/agent-jobs.yaml'
  return [warn(what, remedy)]
}

function aboutSecretAccess({ account, all, others, writes, policy }: SecretAccess): Finding[] {
  const found: Finding[] = []
  if (all)
    found.push(
      warn(
        `${account} may read every Secret of the cluster: its token is worth as much as all of them`,
        'name its namespaces in operator.namespaceRules, and turn operator.allSecrets off',
      ),
    )
  else if (others.length > 0)
    found.push(
      bad(
        `${account} may read Secrets of other components: ${some(others.map(one => `${one.namespace}/${one.name} (${one.component})`))}`,
        'move them, with their component, into a namespace whose Secrets the operator may not read',
      ),
    )
  else found.push(ok(`${account} may read no Secret of another component`))
  if (writes && policy !== 'bound')
    found.push(
      bad(
        policy === undefined
          ? `${account} may write Secrets, and ValidatingAdmissionPolicies are not readable`
          : `no admission policy limits the Secrets that ${account} writes: its token is cluster-admin`,
        'run helm upgrade, or kubectl apply -f config/admission/operator-secrets.yaml; before Kubernetes 1.30 use config/before-1.30',
      ),
    )
  return found
}

function aboutNodes(nodes: readonly NodeObject[] | undefined): Finding[] {
  if (nodes === undefined) return [unreadable('Nodes')]
  const found = nodes.flatMap((node): Finding[] => {
    const { name } = node.metadata
    const { systemUUID, kernelVersion = '', architecture } = node.status?.nodeInfo ?? {}
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status
    return [
      !systemUUID &&
        bad(
          `node ${name} has no SystemUUID`,
          `${need.systemUUID}: check that /sys/class/dmi/id/product_uuid is readable on the machine, then restart its kubelet`,
        ),
      isOlder(kernelVersion) &&
        warn(
          `node ${name} has kernel ${kernelVersion}`,
          `${need.kernel}: on older ones the agent fails (docs/guides/install.md)`,
        ),
      architecture !== undefined &&
        !architectures.includes(architecture) &&
        warn(
          `node ${name} has architecture ${architecture}`,
          `${need.architecture}: there are no images for others (docs/guides/install.md)`,
        ),
      ready === 'Unknown' && warn(`node ${name} is unreachable`, 'its config is applied when the node is back'),
    ].filter(one => one !== false)
  })
  // Map.groupBy is not in Node 20.
  const byUuid = new Map<string, NodeObject[]>()
  for (const node of nodes) {
    const uuid = node.status?.nodeInfo?.systemUUID?.toLowerCase() ?? ''
    byUuid.set(uuid, [...(byUuid.get(uuid) ?? []), node])
  }
  const duplicates = [...byUuid]
    .filter(([uuid, same]) => uuid !== '' && same.length > 1)
    .map(
      ([uuid, same]): Finding =>
        bad(
          `nodes ${same.map(node => node.metadata.name).join(', ')} have the same SystemUUID (${uuid})`,
          `${need.systemUUID}: give each cloned machine one, or a config for one of them would match both`,
        ),
    )
  const all = [...found, ...duplicates]
  return all.length > 0 ? all : [ok(`${nodes.length} nodes have distinct machine IDs`)]
}

/** The tests read ifcfg files with NetworkManager, not with the network scripts (docs/decisions/0068-guests.md). */
function aboutBackends(nodes: readonly NodeObject[] = []): Finding[] {
  const withIfcfg = nodes.filter(node => backendOf(node) === 'ifcfg').map(({ metadata }) => metadata.name)
  if (withIfcfg.length === 0) return []
  const what = `${withIfcfg.length} of ${nodes.length} nodes have ifcfg files, which are tested only with NetworkManager: ${some(withIfcfg)}`
  const remedy =
    'if a node uses the network scripts instead, reboot it after its NICs are configured and compare (docs/guides/agent.md)'
  return [warn(what, remedy)]
}

/** A cloud provider that lists the addresses of every port: other programs may use them as the address of the node. */
function aboutInternalIps({ nodes = [], configs = [] }: ClusterFacts): Finding[] {
  return nodes.flatMap((node): Finding[] => {
    const { name } = node.metadata
    const here = configs.filter(({ spec }) => spec.nodeName === name)
    const interfaces = here.flatMap(({ spec }) => completeInterfaces(spec.interfaces).interfaces)
    const listed = requestedAmong(internalIpsOf(node), interfaces)
    if (listed.length === 0) return []
    const what = `node ${name} lists addresses of requested NICs as InternalIP: ${some(listed)}`
    return [warn(what, internalIpRemedy)]
  })
}

function isOlder(kernel: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernel) ?? []
  if (major === undefined || minor === undefined) return false
  return Number(major) < minKernel[0] || (Number(major) === minKernel[0] && Number(minor) < minKernel[1])
}
