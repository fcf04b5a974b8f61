/**
 * The cluster of a command: from its flags, else from the environment, like kubectl.
 */
import { join } from 'node:path'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { type ClusterAccess, loadKubeconfig } from '../kube/config.ts'
import { messageOf } from '../runtime/errors.ts'
import { CliError, type Io } from './io.ts'

export interface ClusterFlags {
  kubeconfig?: string
  context?: string
  namespace?: string
}

export interface Cluster {
  kube: KubeClient
  namespace: string
}

export async function clusterAccessOf({ env }: Pick<Io, 'env'>, flags: ClusterFlags): Promise<ClusterAccess> {
  const { KUBECONFIG = '', HOME = '' } = env
  const path = flags.kubeconfig ?? (KUBECONFIG || join(HOME, '.kube/config'))
  return loadKubeconfig(path, flags.context).catch(error => {
    throw new CliError(
      `cannot load the kubeconfig: ${messageOf(error)}\nSet --kubeconfig FILE or KUBECONFIG, and --context NAME.`,
      { cause: error },
    )
  })
}

/** Closes the connection when the work ends. */
export async function withCluster<T>(io: Io, flags: ClusterFlags, work: (cluster: Cluster) => Promise<T>): Promise<T> {
  const kube = connectKube(await clusterAccessOf(io, flags))
  try {
    return await work({ kube, namespace: flags.namespace ?? 'multinic-system' })
  } catch (error) {
    if (error instanceof CliError) throw error
    throw new CliError(messageOf(error), { cause: error })
  } finally {
    await kube.close()
  }
}
