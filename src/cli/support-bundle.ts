/**
 * `multinic support-bundle`: what somebody else needs to see a problem, in a directory of plain files.
 *
 * Secrets are never asked for, and what people put where it does not belong is taken out: values of variables and settings
 * whose names tell that they are secret, and the copy of an object that `kubectl apply` keeps in an annotation.
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

interface Wanted {
  resource: Resource<KubeObject>
  /** In the namespace of our parts; otherwise everywhere. */
  inNamespace?: boolean
  labelSelector?: string
}

const wanted: Record<string, Wanted> = {
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
    throw new CliError(`--directory: ${messageOf(error)}; name one that does not exist yet`, { cause: error })
  })
  const missing: string[] = []
  await withCluster(io, flags, async ({ kube, namespace }) => {
    const keep = (file: string, text: string) => writeFile(join(directory, file), text, { mode: 0o600 })
    await keep('version.json', jsonText((await kube.raw('GET', '/version')).body))
    for (const [name, { resource, inNamespace, labelSelector }] of Object.entries(wanted))
      try {
        const where = { ...(inNamespace && { namespace }), ...(labelSelector && { labelSelector }) }
        const { items } = await kube.list(resource, where)
        await keep(`${name}.json`, jsonText(items.map(withoutSecrets)))
      } catch (error) {
        missing.push(`${name}: ${messageOf(error)}`)
      }
    const found = await kube.list(pods, { namespace }).catch(() => ({ items: [] }))
    for (const { metadata } of found.items.filter(({ metadata }) => isOurs(metadata.labels)))
      try {
        await keep(`${metadata.name}.log`, await logOf(kube, namespace, metadata.name))
      } catch (error) {
        missing.push(`log of ${metadata.name}: ${messageOf(error)}`)
      }
    if (missing.length > 0) await keep('missing.txt', `${missing.join('\n')}\n`)
  })
  for (const one of missing) io.note(`left out: ${one}`)
  io.out(`${directory} holds what others need to see the problem. Look through it before you hand it on.\n`)
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
/** Not a plain `key`, which taints have, nor what only names a Secret or a file. */
const secretName = /(encrypt|private|api)_?key|token|passw|secret(?!_?name|key)/i
const onlyNames = /(file|path|dir|name|ref|audience)$/i
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
  return secretName.test(name) && !onlyNames.test(name)
}
