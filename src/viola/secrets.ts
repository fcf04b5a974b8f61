/**
 * Kubeconfigs in Secrets of the cluster that we run in. They are looked at again now and then, not for every request, and the
 * last good look counts while that cluster is away.
 */
import { explain } from '../errors.ts'
import type { KubeClient } from '../kube/client.ts'
import { type ClusterAccess, kubeconfigFrom } from '../kube/config.ts'
import { secrets } from '../kube/resources.ts'
import { connectedOnce } from './access.ts'
import type { SecretAccess } from './routing.ts'

export interface Secrets {
  access(where: SecretAccess): Promise<ClusterAccess>
  /** Changes when the Secret does. */
  mark(where: SecretAccess): Promise<string>
  close(): Promise<void>
}

interface Look {
  at: number
  found: Promise<{ mark: string; data: Record<string, string> }>
}

/** What people and Cluster API call it. */
const usualKeys = ['kubeconfig', 'value']

export function openSecrets(
  connect: () => Promise<KubeClient>,
  freshMs: number,
  now: () => number = Date.now,
): Secrets {
  const looks = new Map<string, Look>()
  const kube = connectedOnce(connect)

  async function read({ namespace, name }: SecretAccess): Promise<{ mark: string; data: Record<string, string> }> {
    const secret = await (await kube.client()).get(secrets, { namespace, name })
    if (!secret) throw new Error('there is none')
    return { mark: `${secret.metadata.uid}:${secret.metadata.resourceVersion}`, data: secret.data ?? {} }
  }

  function look(where: SecretAccess): Look['found'] {
    const id = `${where.namespace}/${where.name}`
    const held = looks.get(id)
    if (held && now() - held.at < freshMs) return held.found
    const found = read(where).catch(error => {
      if (held) return held.found
      looks.delete(id)
      throw explain(`Secret ${id}`, error)
    })
    looks.set(id, { at: now(), found })
    return found
  }

  return {
    async access(where) {
      const { data } = await look(where)
      const keys = where.key === undefined ? usualKeys : [where.key]
      const text = keys.map(key => data[key]).find(value => value !== undefined)
      const at = `Secret ${where.namespace}/${where.name}`
      if (text === undefined) throw new Error(`${at}: has no key ${keys.join(' or ')}`)
      try {
        return await kubeconfigFrom(Buffer.from(text, 'base64').toString(), where.context)
      } catch (error) {
        throw explain(at, error)
      }
    },
    // What is in the way is told when the cluster is opened.
    mark: where =>
      look(where).then(
        ({ mark }) => mark,
        () => '',
      ),
    close: kube.close,
  }
}
