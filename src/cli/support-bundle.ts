/**
 * `multinic support-bundle`: objects and logs for a support case, as one archive (.tgz).
 *
 * Secrets are never read. Of other objects only the listed fields are written (support-fields.ts).
 */
import { writeFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import type { KubeObject } from '../contract/object.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { KubeClient } from '../kube/client.ts'
import { deployments, events, jobs, nodes, pods } from '../kube/resources.ts'
import type { EventObject, PodObject, Resource } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'
import { type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { bundleFields, type Fields, keep, withoutUserinfo } from './support-fields.ts'
import { tarOf } from './tar.ts'

export interface SupportFlags extends ClusterFlags {
  file?: string
}

const ours = 'app.kubernetes.io/part-of=multinic'
const agents = 'app.kubernetes.io/name=multinic-agent'

interface Selection {
  resource: Resource<KubeObject>
  fields: Fields
  /** In the namespace of MultiNIC; otherwise in all namespaces. */
  inNamespace?: boolean
  labelSelector?: string
}

const selections = {
  openstackconfigs: { resource: openstackConfigs, fields: bundleFields.openstackConfig },
  multinicnodeconfigs: { resource: nodeConfigs, fields: bundleFields.nodeConfig },
  multinicbizconfigs: { resource: bizConfigs, fields: bundleFields.bizConfig },
  nodes: { resource: nodes, fields: bundleFields.node },
  deployments: { resource: deployments, fields: bundleFields.deployment, inNamespace: true, labelSelector: ours },
  pods: { resource: pods, fields: bundleFields.pod, inNamespace: true, labelSelector: ours },
  'agent-jobs': { resource: jobs, fields: bundleFields.job, inNamespace: true, labelSelector: agents },
  'agent-pods': { resource: pods, fields: bundleFields.agentPod, inNamespace: true, labelSelector: agents },
} satisfies Record<string, Selection>

/** Names of the files with objects. */
export const bundledObjects = Object.keys(selections)

/** Other containers of a Pod, such as those of a service mesh, are not ours to publish. */
const ownContainers = new Set(['controller', 'operator', 'viola', 'viola-api', 'inventory', 'agent'])
const ownSources = new Set(['multinic-controller', 'multinic-operator'])

const logLines = 2_000

export async function supportBundle(io: Io, flags: SupportFlags): Promise<Ending> {
  const now = io.now()
  const name = `multinic-support-${now.toISOString().replace(/\.\d+|[-:]/g, '')}`
  const { file = `${name}.tgz` } = flags
  const files = new Map<string, string>()
  const save = (path: string, text: string) => void files.set(`${name}/${path}`, text)
  const missing: string[] = []
  await withCluster(io, flags, async ({ kube, namespace }) => {
    save('version.json', jsonText((await kube.raw('GET', '/version')).body))
    const collect = async (what: string, collection: () => Promise<unknown>) =>
      collection().catch(error => missing.push(`${what}: ${messageOf(error)}`))
    const found: Record<string, KubeObject[]> = {}
    for (const [name, { resource, fields, inNamespace, labelSelector }] of Object.entries<Selection>(selections))
      await collect(name, async () => {
        const where = { ...(inNamespace && { namespace }), ...(labelSelector && { labelSelector }) }
        const { items } = await kube.list(resource, where)
        found[name] = items
        save(`${name}.json`, jsonText(items.map(one => keep(one, fields))))
      })
    const agentUids = new Set([...(found['agent-jobs'] ?? []), ...(found['agent-pods'] ?? [])].map(uidOf))
    await collect('events', async () => {
      const { items } = await kube.list(events, { namespace })
      const isOwn = ({ source, involvedObject: { uid } }: EventObject) =>
        ownSources.has(source?.component ?? '') || agentUids.has(uid)
      const { event, ownEvent } = bundleFields
      save('events.json', jsonText(items.map(one => keep(one, isOwn(one) ? ownEvent : event))))
    })
    for (const { metadata, spec } of [...(found['pods'] ?? []), ...(found['agent-pods'] ?? [])] as PodObject[]) {
      const container = spec.containers.find(({ name }) => ownContainers.has(name))?.name
      if (container)
        await collect(`log of ${metadata.name}`, async () =>
          save(
            `${metadata.name}.log`,
            withoutUserinfo(await logOf(kube, { namespace, pod: metadata.name, container })),
          ),
        )
    }
    if (missing.length > 0) save('missing.txt', `${missing.join('\n')}\n`)
  })
  await writeFile(file, gzipSync(tarOf(files, now)), { flag: 'wx', mode: 0o600 }).catch(error => {
    throw new CliError(`cannot write ${file}: ${messageOf(error)}\nName a new file with --file FILE.`, { cause: error })
  })
  for (const one of missing) io.note(`not included: ${one}`)
  io.out(`wrote ${file}. Review it before you share it: tar -xzf ${file}\n`)
  return 'yes'
}

function uidOf({ metadata }: KubeObject): string | undefined {
  return metadata.uid
}

async function logOf(
  kube: KubeClient,
  { namespace, pod, container }: { namespace: string; pod: string; container: string },
): Promise<string> {
  const query = `container=${container}&tailLines=${logLines}&timestamps=true`
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?${query}`
  const { body } = await kube.raw('GET', path, undefined, { accept: '*/*' })
  return typeof body === 'string' ? body : jsonText(body)
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
