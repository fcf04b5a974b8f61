/**
 * Listings of the same moment are one: OpenstackConfigs of one cloud that ask for ports at the same time share the answer.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Port } from './neutron.ts'

export interface PortListing {
  ports(vmIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
}

/** So long a listing waits for others to join. */
const momentMs = 2

export function createPortListing(list: (vmIds: string[]) => Promise<Port[]>): PortListing {
  let next: { vmIds: Set<string>; ports: Promise<Map<string, Port[]>> } | undefined

  function open() {
    const vmIds = new Set<string>()
    const ports = sleep(momentMs).then(async () => {
      next = undefined
      return Map.groupBy(await list([...vmIds]), port => port.deviceId)
    })
    // Everybody who asked may have left by the time it fails.
    ports.catch(() => {})
    return { vmIds, ports }
  }

  return {
    async ports(vmIds, signal) {
      if (vmIds.length === 0) return []
      next ??= open()
      for (const id of vmIds) next.vmIds.add(id)
      const found = await unlessAborted(next.ports, signal)
      return vmIds.flatMap(id => found.get(id) ?? [])
    },
  }
}

/** One who leaves does not take the listing away from the others. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  const left = Promise.withResolvers<never>()
  const leave = () => left.reject(signal.reason)
  signal.addEventListener('abort', leave, { once: true })
  try {
    return await Promise.race([work, left.promise])
  } finally {
    signal.removeEventListener('abort', leave)
  }
}
