/**
 * What `multinic doctor` makes of a cluster. Pure: facts in, findings with remedies out.
 */
import type { NodeConfig } from '../../contract/node-config.ts'
import type { OpenstackConfig } from '../../contract/openstack-config.ts'
import type { NodeObject } from '../../kube/types.ts'

export interface Finding {
  level: 'ok' | 'warn' | 'bad'
  what: string
  /** What to do about it. */
  remedy?: string
}

export interface Definition {
  name: string
  /** Versions that this program knows, the stored one first. */
  known: readonly string[]
  /** Absent: not in the cluster. */
  served?: { versions: readonly string[]; stored?: string | undefined; established: boolean }
}

export interface Workload {
  name: string
  /** controller, operator, viola or inventory. */
  part?: string
  /** Its ServiceAccount. */
  account?: string
  /** The port of its Service where it tells whether it is ready. */
  answersAt?: { port: string; tls: boolean }
  wanted: number
  ready: number
}

/** What a ServiceAccount of ours may not do although it has to; or why that could not be asked. */
export type PartRights = { account: string; missing: readonly string[] } | { account: string; unasked: string }

/** What a part that is ready has to say besides; or why it could not be asked. */
export type PartWords = { name: string; warnings: readonly string[] } | { name: string; unasked: string }

export interface ClusterFacts {
  version: { major: number; minor: number }
  /** How far the clock of this machine is before that of the API server. */
  clockAheadMs: number
  definitions: readonly Definition[]
  /** Undefined: nobody could be asked. */
  workloads: readonly Workload[] | undefined
  rights: readonly PartRights[]
  words: readonly PartWords[]
  podSecurity: string | undefined
  nodes: readonly NodeObject[] | undefined
  configs: readonly NodeConfig[] | undefined
  sources: readonly OpenstackConfig[] | undefined
}

const oldestMinor = 20
const mostSkewMs = 30_000
/** Below it the kernel lacks noprefixroute for IPv4. */
const goodKernel = [4, 18] as const

export function findingsOf(facts: ClusterFacts, namespace: string): Finding[] {
  return [
    aboutVersion(facts),
    aboutClock(facts),
    ...facts.definitions.map(aboutDefinition),
    ...aboutWorkloads(facts.workloads, namespace),
    ...facts.words.flatMap(aboutWords),
    ...facts.rights.map(aboutRights),
    ...aboutPodSecurity(facts.podSecurity, namespace),
    ...aboutNodes(facts.nodes),
    ...aboutConfigs(facts.configs),
    ...aboutSources(facts.sources),
  ]
}

function ok(what: string): Finding {
  return { level: 'ok', what }
}

function aboutVersion({ version: { major, minor } }: ClusterFacts): Finding {
  const name = `Kubernetes ${major}.${minor}`
  if (major > 1 || minor >= oldestMinor) return ok(`${name} answers`)
  return { level: 'bad', what: `${name} is too old`, remedy: `upgrade the cluster to 1.${oldestMinor} or newer` }
}

function aboutClock({ clockAheadMs }: ClusterFacts): Finding {
  const seconds = Math.round(Math.abs(clockAheadMs) / 1_000)
  if (Math.abs(clockAheadMs) <= mostSkewMs) return ok('clocks agree')
  return {
    level: 'warn',
    what: `the clock of this machine is ${seconds} s ${clockAheadMs > 0 ? 'before' : 'behind'} that of the API server`,
    remedy: 'let both be set by NTP: tokens, leases and port ages depend on the time',
  }
}

function aboutDefinition({ name, known, served }: Definition): Finding {
  const remedy = 'make install, or helm upgrade with crds.install'
  if (!served) return { level: 'warn', what: `CRD ${name} is not in this cluster`, remedy }
  if (!served.established)
    return { level: 'bad', what: `CRD ${name} is not established`, remedy: 'kubectl describe crd' }
  const missing = known.filter(version => !served.versions.includes(version))
  if (missing.length > 0)
    return {
      level: 'bad',
      what: `CRD ${name} does not serve ${missing.join(', ')}: it is older than this program`,
      remedy,
    }
  if (served.stored !== known[0])
    return {
      level: 'bad',
      what: `CRD ${name} stores ${served.stored}, not ${known[0]}: another version is installed`,
      remedy,
    }
  return ok(`CRD ${name} serves ${served.versions.join(', ')}`)
}

function aboutWorkloads(workloads: readonly Workload[] | undefined, namespace: string): Finding[] {
  if (workloads === undefined) return [unasked('Deployments')]
  if (workloads.length === 0)
    return [{ level: 'warn', what: `no part of ours runs in ${namespace}`, remedy: 'name another with --namespace' }]
  return workloads.map(({ name, wanted, ready }) =>
    ready >= wanted
      ? ok(`${name}: ${ready} of ${wanted} ready`)
      : {
          level: 'bad',
          what: `${name}: ${ready} of ${wanted} ready`,
          remedy: `kubectl -n ${namespace} describe deployment ${name}; kubectl -n ${namespace} logs deployment/${name}`,
        },
  )
}

function aboutWords(said: PartWords): Finding[] {
  const { name } = said
  if ('unasked' in said)
    return [{ level: 'warn', what: `${name} could not be asked how it is: ${said.unasked}`, remedy: askThroughServer }]
  if (said.warnings.length === 0) return [ok(`${name} has nothing to warn of`)]
  return said.warnings.map(warning => ({ level: 'warn', what: `${name} warns: ${warning}` }))
}

const askThroughServer = 'ask with an account that may get services/proxy, or forward its port and name it with --url'

function aboutRights(found: PartRights): Finding {
  const { account } = found
  if ('unasked' in found)
    return { level: 'warn', what: `rights of ${account} could not be asked: ${found.unasked}`, remedy: askAsAdmin }
  if (found.missing.length === 0) return ok(`${account} has its rights`)
  const [some, more] = [found.missing.slice(0, 5), found.missing.length - 5]
  return {
    level: 'bad',
    what: `${account} may not ${some.join(', ')}${more > 0 ? ` and ${more} more` : ''}`,
    remedy: 'give it its roles again: helm upgrade with the chart of this version, or make deploy',
  }
}

const askAsAdmin = 'ask with an account that may create subjectaccessreviews'

function unasked(what: string): Finding {
  return { level: 'warn', what: `${what} could not be read`, remedy: 'ask with an account that may list them' }
}

function aboutPodSecurity(enforced: string | undefined, namespace: string): Finding[] {
  if (enforced === 'privileged') return [ok(`namespace ${namespace} lets the agent’s Pods in`)]
  const label = `kubectl label namespace ${namespace} pod-security.kubernetes.io/enforce=privileged --overwrite`
  if (enforced !== undefined)
    return [{ level: 'bad', what: `Pod Security of ${namespace} is ${enforced}: agents are refused`, remedy: label }]
  return [
    {
      level: 'warn',
      what: `namespace ${namespace} has no Pod Security label: the cluster’s default counts`,
      remedy: label,
    },
  ]
}

function aboutNodes(nodes: readonly NodeObject[] | undefined): Finding[] {
  if (nodes === undefined) return [unasked('Nodes')]
  const found = nodes.flatMap((node): Finding[] => {
    const { name } = node.metadata
    const { systemUUID, kernelVersion = '' } = node.status?.nodeInfo ?? {}
    const trouble: Finding[] = []
    if (!systemUUID)
      trouble.push({
        level: 'bad',
        what: `node ${name} has no SystemUUID`,
        remedy: 'see whether /sys/class/dmi/id/product_uuid of the machine can be read; then restart its kubelet',
      })
    if (isOlder(kernelVersion))
      trouble.push({
        level: 'warn',
        what: `node ${name} has kernel ${kernelVersion}`,
        remedy: `before ${goodKernel.join('.')} some features are left out; docs/guides/agent.md says which`,
      })
    const heard = node.status?.conditions?.find(({ type }) => type === 'Ready')?.status
    if (heard === 'Unknown')
      trouble.push({
        level: 'warn',
        what: `nobody hears from node ${name}`,
        remedy: 'its config waits until it is back',
      })
    return trouble
  })
  // Map.groupBy is not in Node 20.
  const byUuid = new Map<string, NodeObject[]>()
  for (const node of nodes) {
    const uuid = node.status?.nodeInfo?.systemUUID?.toLowerCase() ?? ''
    byUuid.set(uuid, [...(byUuid.get(uuid) ?? []), node])
  }
  const twins = [...byUuid]
    .filter(([uuid, same]) => uuid !== '' && same.length > 1)
    .map(
      ([uuid, same]): Finding => ({
        level: 'bad',
        what: `nodes ${same.map(node => node.metadata.name).join(', ')} have one SystemUUID (${uuid})`,
        remedy: 'cloned machines need an id of their own: a config for one of them would fit both',
      }),
    )
  const all = [...found, ...twins]
  return all.length > 0 ? all : [ok(`${nodes.length} nodes can be told apart`)]
}

function isOlder(kernel: string): boolean {
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(kernel) ?? []
  if (major === undefined || minor === undefined) return false
  return Number(major) < goodKernel[0] || (Number(major) === goodKernel[0] && Number(minor) < goodKernel[1])
}

function aboutConfigs(configs: readonly NodeConfig[] | undefined): Finding[] {
  if (configs === undefined) return []
  const failed = configs.filter(({ status }) => status?.state === 'Failed').map(({ spec }) => spec.nodeName)
  if (failed.length === 0) return [ok(`${configs.length} node configs, none failed`)]
  return [
    {
      level: 'bad',
      what: `${failed.length} of ${configs.length} nodes failed: ${some(failed)}`,
      remedy: 'multinic why NODE, or kubectl describe mnnc',
    },
  ]
}

function aboutSources(sources: readonly OpenstackConfig[] | undefined): Finding[] {
  return (sources ?? []).map(({ metadata, status }): Finding => {
    const name = `OpenstackConfig ${metadata.namespace}/${metadata.name}`
    const ready = status?.conditions?.find(({ type }) => type === 'Ready')
    if (!ready)
      return { level: 'warn', what: `${name} has not been synced yet`, remedy: 'see whether the operator runs' }
    if (ready.status === 'True') return ok(`${name} is synced`)
    return { level: 'bad', what: `${name}: ${ready.reason}`, ...(ready.message && { remedy: ready.message }) }
  })
}

function some(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ')
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown
}
