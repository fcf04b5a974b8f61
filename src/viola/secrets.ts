/**
 * Kubeconfigs in Secrets of the cluster that we run in.
 */

import type { KubeClient } from '../kube/client.ts'
import { type ClusterAccess, kubeconfigFrom } from '../kube/config.ts'
import { secrets } from '../kube/resources.ts'
import { explain } from '../runtime/errors.ts'
import { checkedAccess, connectedOnce } from './access.ts'
import type { SecretAccess } from './routing.ts'

export interface Secrets {
  access(where: SecretAccess): Promise<ClusterAccess>
  close(): Promise<void>
}

/** What people and Cluster API call it. */
const usualKeys = ['kubeconfig', 'value']

export function openSecrets(connect: () => Promise<KubeClient>): Secrets {
  const kube = connectedOnce(connect)

  async function access({ namespace, name, key, context }: SecretAccess): Promise<ClusterAccess> {
    const secret = await (await kube.client()).get(secrets, { namespace, name })
    if (!secret) throw new Error('there is none')
    const keys = key === undefined ? usualKeys : [key]
    const text = keys.map(one => secret.data?.[one]).find(value => value !== undefined)
    if (text === undefined) throw new Error(`has no key ${keys.join(' or ')}`)
    return checkedAccess(await kubeconfigFrom(Buffer.from(text, 'base64').toString(), context))
  }

  return {
    access: where =>
      access(where).catch(error => {
        throw explain(`Secret ${where.namespace}/${where.name}`, error)
      }),
    close: kube.close,
  }
}
