/**
 * `multinic support-bundle`: objects and logs for a support case, as plain files in a directory.
 *
 * Secrets are never read. Values of variables and settings with a secret-like name are removed, and so is the copy of an
 * object that `kubectl apply` keeps in an annotation.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import type { KubeObject } from '../contract/object.ts'
import { openstackConfigs } from '../contract/openstack-config.ts'
import type { KubeClient } from '../kube/client.ts'
import { deployments, events, jobs, nodes, pods } from '../kube/resources.ts'
import type { Resource } from '../kube/types.ts'
import { messageOf } from '../runtime/errors.ts'
import { type ClusterFlags, withCluster } from './cluster.ts'
import { CliError, type Ending, type Io } from './io.ts'

export interface SupportFlags extends ClusterFlags {
  directory: string
}

const ours = 'app.kubernetes.io/part-of=multinic'
const agents = 'app.kubernetes.io/name=multinic-agent'

interface Selection {
  resource: Resource<KubeObject>
  /** In the namespace of MultiNIC; otherwise in all namespaces. */
  inNamespace?: boolean
  labelSelector?: string
}

const selections: Record<string, Selection> = {
  openstackconfigs: { resource: openstackConfigs },
  multinicnodeconfigs: { resource: nodeConfigs },
  multinicbizconfigs: { resource: bizConfigs },
  nodes: { resource: nodes },
  deployments: { resource: deployments, inNamespace: true, labelSelector: ours },
  jobs: { resource: jobs, inNamespace: true, labelSelector: agents },
  pods: { resource: pods, inNamespace: true },
  events: { resource: events, inNamespace: true },
}

const logLines = 2_000

export async function supportBundle(io: Io, flags: SupportFlags): Promise<Ending> {
  const { directory } = flags
  await mkdir(directory, { mode: 0o700 }).catch(error => {
    throw new CliError(`--directory: ${messageOf(error)}; choose one that does not exist yet`, { cause: error })
  })
  const missing: string[] = []
  await withCluster(io, flags, async ({ kube, namespace }) => {
    const save = (file: string, text: string) => writeFile(join(directory, file), text, { mode: 0o600 })
    await save('version.json', jsonText((await kube.raw('GET', '/version')).body))
    for (const [name, { resource, inNamespace, labelSelector }] of Object.entries(selections))
      try {
        const where = { ...(inNamespace && { namespace }), ...(labelSelector && { labelSelector }) }
        const { items } = await kube.list(resource, where)
        await save(`${name}.json`, jsonText(items.map(withoutSecrets)))
      } catch (error) {
        missing.push(`${name}: ${messageOf(error)}`)
      }
    const found = await kube.list(pods, { namespace }).catch(() => ({ items: [] }))
    for (const { metadata } of found.items.filter(({ metadata }) => isOurs(metadata.labels)))
      try {
        await save(`${metadata.name}.log`, await logOf(kube, namespace, metadata.name))
      } catch (error) {
        missing.push(`log of ${metadata.name}: ${messageOf(error)}`)
      }
    if (missing.length > 0) await save('missing.txt', `${missing.join('\n')}\n`)
  })
  for (const one of missing) io.note(`not included: ${one}`)
  io.out(`wrote the support bundle to ${directory}. Review it before you share it.\n`)
  return 'yes'
}

function isOurs(labels: Record<string, string> = {}): boolean {
  return labels['app.kubernetes.io/part-of'] === 'multinic' || labels['app.kubernetes.io/name'] === 'multinic-agent'
}

async function logOf(kube: KubeClient, namespace: string, pod: string): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/log?tailLines=${logLines}&timestamps=true`
  const { body } = await kube.raw('GET', path, undefined, { accept: '*/*' })
  return typeof body === 'string' ? body : jsonText(body)
}

function jsonText(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

const applied = 'kubectl.kubernetes.io/last-applied-configuration'
/** Excludes a plain `key`, which taints have, and references to a Secret or a file. */
const secretName = /(encrypt|private|api)_?key|token|passw|secret(?!_?name|key)/i
const references = /(file|path|dir|name|ref|audience)$/i
const removed = 'REMOVED'

export function withoutSecrets(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSecrets)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([name]) => name !== applied && name !== 'managedFields')
  const named = Object.fromEntries(entries)
  const isVariable = typeof named['name'] === 'string' && 'value' in named
  return Object.fromEntries(
    entries.map(([name, one]) => {
      const hidden = isVariable ? name === 'value' && isSecret(String(named['name'])) : isSecret(name)
      return [name, hidden && typeof one === 'string' ? removed : withoutSecrets(one)]
    }),
  )
}

function isSecret(name: string): boolean {
  return secretName.test(name) && !references.test(name)
}
