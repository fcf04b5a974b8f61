/**
 * The networks of the cluster's Services (ServiceCIDR), read again at most every ten minutes. A cluster before Kubernetes 1.33
 * does not have this kind: there the agent knows only the address of the API server.
 */
import type { Kube } from '../kube/api.ts'
import { isNotFound } from '../kube/errors.ts'
import { serviceCIDRs } from '../kube/resources.ts'
import { explain } from '../runtime/errors.ts'

export type ServiceNetworks = () => Promise<readonly string[]>

const validMs = 600_000

export function followServiceNetworks(kube: Pick<Kube, 'list'>, now = () => performance.now()): ServiceNetworks {
  let latest: { networks: Promise<readonly string[]>; readAt: number } | undefined
  return async () => {
    if (!latest || now() - latest.readAt > validMs) latest = { networks: read(kube), readAt: now() }
    try {
      return await latest.networks
    } catch (error) {
      latest = undefined
      throw error
    }
  }
}

async function read(kube: Pick<Kube, 'list'>): Promise<readonly string[]> {
  try {
    const { items } = await kube.list(serviceCIDRs)
    return items.flatMap(({ spec }) => spec?.cidrs ?? [])
  } catch (error) {
    if (isNotFound(error)) return []
    throw explain('cannot list ServiceCIDRs', error)
  }
}
