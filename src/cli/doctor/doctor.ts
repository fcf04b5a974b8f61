/**
 * `multinic doctor`: reads a cluster, and reports what is wrong and what to do.
 */
import { kinds } from '../../contract/crd.ts'
import { nodeConfigs } from '../../contract/node-config.ts'
import type { KubeObject } from '../../contract/object.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { withoutSlash } from '../../contract/url.ts'
import type { KubeClient } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import { crds, deployments, namespaces, nodes } from '../../kube/resources.ts'
import type { Resource } from '../../kube/types.ts'
import { type AccessFlags, accessFrom } from '../access.ts'
import { type Api, connectApi, textOf } from '../api.ts'
import { type Cluster, type ClusterFlags, withCluster } from '../cluster.ts'
import { connectTo } from '../connection.ts'
import type { Ending, Io } from '../io.ts'
import { whyUnreachable } from '../network-errors.ts'
import { type Format, print } from '../output.ts'
import { printable, type Tone } from '../render/paint.ts'
import { type ClusterFacts, type Definition, findingsOf, type Workload } from './checks.ts'
import { bad, type Finding, ok } from './finding.ts'
import { podNetworksIn } from './pod-addresses.ts'
import { policyStateOf } from './policies.ts'
import { readinessOf } from './readiness.ts'
import { rightsOf, userOf } from './rights.ts'
import { secretAccessIn } from './secret-access.ts'

export interface DoctorFlags extends ClusterFlags, AccessFlags {
  output?: Format
  /** URLs of components to check as well. */
  url?: string[]
}

const signs: Record<Finding['level'], [tone: Tone, sign: string]> = {
  ok: ['good', '●'],
  warn: ['busy', '▲'],
  bad: ['bad', '✗'],
}

export async function doctor(io: Io, flags: DoctorFlags): Promise<Ending> {
  const access = accessFrom(flags, io)
  const api = connectApi(access)
  const inCluster = await withCluster(io, flags, async cluster =>
    findingsOf(await factsOf(cluster, api, io.now()), cluster.namespace, io.now()),
  )
  const ca = await access.ca()
  const findings = [...inCluster, ...(await Promise.all((flags.url ?? []).map(url => checkUrl(url, ca))))]
  await print(io, flags.output, {
    data: findings,
    lines: ({ paint }) =>
      findings.flatMap(({ level, what, remedy }) => {
        const [tone, sign] = signs[level]
        const line = `${paint(tone, sign)} ${printable(what)}`
        return remedy === undefined || level === 'ok' ? [line] : [line, `    ${printable(remedy)}`]
      }),
  })
  return findings.some(({ level }) => level === 'bad') ? 'no' : 'yes'
}

async function factsOf({ kube, namespace }: Cluster, api: Api, now: Date): Promise<ClusterFacts> {
  const answer = await kube.raw('GET', '/version')
  const { major = '1', minor = '0' } = answer.body as { major?: string; minor?: string }
  const date = Date.parse(String(answer.headers['date'] ?? ''))
  const place = await kube.get(namespaces, { name: namespace }).catch(() => undefined)
  const [definitions, workloads, allNodes, configs, sources] = await Promise.all([
    definitionsIn(kube),
    workloadsIn(kube, namespace),
    readable(kube, nodes),
    readable(kube, nodeConfigs),
    readable(kube, openstackConfigs),
  ])
  const installed = typeof workloads === 'object' ? workloads : []
  const controller = installed.find(({ component }) => component === 'controller')
  return {
    version: { major: Number.parseInt(major, 10), minor: Number.parseInt(minor, 10) },
    clockAheadMs: Number.isNaN(date) ? 0 : now.getTime() - date,
    definitions,
    workloads,
    rights: await rightsOf(kube, namespace, installed),
    readiness: await readinessOf(kube, namespace, installed),
    agentPolicy: await policyStateOf(kube, userOf(namespace, controller?.account ?? ''), 'jobs'),
    secretAccess: await secretAccessIn(
      kube,
      (sources ?? []).flatMap(({ metadata }) => metadata.namespace ?? []),
    ),
    podSecurity: place?.metadata.labels?.['pod-security.kubernetes.io/enforce'],
    nodes: allNodes,
    configs,
    sources,
    podNetworks: await podNetworksIn(kube, () => api.verdicts({ selected: 'true' })),
  }
}

/** Undefined if the resource is not served or not readable. */
async function readable<T extends KubeObject>(kube: KubeClient, resource: Resource<T>): Promise<T[] | undefined> {
  try {
    return (await kube.list(resource)).items
  } catch {
    return undefined
  }
}

interface CrdObject extends KubeObject {
  spec?: { versions?: { name: string; served: boolean; storage: boolean }[] }
  status?: { conditions?: { type: string; status: string }[] }
}

function definitionsIn(kube: KubeClient): Promise<Definition[]> {
  return Promise.all(
    kinds.map(async ({ group, plural, versions: known }) => {
      const name = `${plural}.${group}`
      const found: CrdObject | undefined = await kube.get(crds, { name })
      if (!found) return { name, known }
      const versions = found.spec?.versions ?? []
      return {
        name,
        known,
        served: {
          versions: versions.filter(({ served }) => served).map(version => version.name),
          stored: versions.find(({ storage }) => storage)?.name,
          established:
            found.status?.conditions?.some(one => one.type === 'Established' && one.status === 'True') ?? false,
        },
      }
    }),
  )
}

interface Container {
  env?: { name: string; value?: string }[]
  ports?: { name?: string; containerPort: number }[]
  readinessProbe?: { httpGet?: { port?: string | number; scheme?: string } }
}

interface DeploymentObject extends KubeObject {
  spec?: { replicas?: number; template?: { spec?: { serviceAccountName?: string; containers?: Container[] } } }
  status?: { readyReplicas?: number }
}

async function workloadsIn(kube: KubeClient, namespace: string): Promise<ClusterFacts['workloads']> {
  try {
    const { items } = await kube.list(deployments, { namespace, labelSelector: 'app.kubernetes.io/part-of=multinic' })
    return items.map((one: DeploymentObject) => ({
      name: one.metadata.name,
      component: one.metadata.labels?.['app.kubernetes.io/component'] ?? '',
      account: one.spec?.template?.spec?.serviceAccountName ?? 'default',
      desired: one.spec?.replicas ?? 1,
      ready: one.status?.readyReplicas ?? 0,
      options: optionsOf(one),
      watchedNamespaces: wordsIn(variableOf(one, 'WATCH_NAMESPACES')),
      ...readyzOf(one),
    }))
  } catch (error) {
    return isNotFound(error) ? 'not served' : undefined
  }
}

function variableOf({ spec }: DeploymentObject, name: string): string | undefined {
  const variables = spec?.template?.spec?.containers?.[0]?.env ?? []
  return variables.findLast(one => one.name === name)?.value
}

function optionsOf(one: DeploymentObject): NonNullable<Workload['options']> {
  const flags = Object.entries({ nodeCondition: 'NODE_CONDITION', nodeLabels: 'NODE_LABELS' })
  const namespaces = wordsIn(variableOf(one, 'ATTACHMENT_NAMESPACES'))
  return [
    ...flags.flatMap(([name, variable]) => (variableOf(one, variable) === 'true' ? [{ name }] : [])),
    ...(namespaces.length > 0 ? [{ name: 'networkAttachments', namespaces }] : []),
  ]
}

function wordsIn(text = ''): string[] {
  return text.split(',').flatMap(word => word.trim() || [])
}

function readyzOf({ spec }: DeploymentObject): Pick<Workload, 'readyzAt'> {
  const { readinessProbe, ports } = spec?.template?.spec?.containers?.[0] ?? {}
  const { port: probed, scheme } = readinessProbe?.httpGet ?? {}
  const port = typeof probed === 'number' ? probed : ports?.find(({ name }) => name === probed)?.containerPort
  return port === undefined ? {} : { readyzAt: { port, tls: scheme === 'HTTPS' } }
}

const timeoutMs = 5_000

/** Checks /readyz of a component. */
async function checkUrl(url: string, ca: string | undefined): Promise<Finding> {
  const connection = await connectTo({ url: withoutSlash(url), ...(ca && { tls: { ca } }) })
  try {
    const answer = await connection.fetch('/readyz', { signal: AbortSignal.timeout(timeoutMs), redirect: 'error' })
    const text = (await textOf(answer, 1024 * 1024)).slice(0, 500)
    if (answer.ok) return ok(`${url} is ready`)
    return bad(`${url} is not ready (HTTP ${answer.status})`, text)
  } catch (error) {
    return bad(`${url} does not respond`, whyUnreachable(error))
  } finally {
    await connection.close()
  }
}
