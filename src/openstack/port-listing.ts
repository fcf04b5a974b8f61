/**
 * Shares port lists: OpenstackConfigs of one cloud that read ports at the same time get them from one request.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Port } from '../operator/cloud.ts'

export interface PortListing {
  ports(serverIds: readonly string[], signal?: AbortSignal): Promise<Port[]>
}

/** How long a request waits for others to join. */
const joinMs = 2

export function createPortListing(list: (serverIds: string[]) => Promise<Port[]>): PortListing {
  let next: { serverIds: Set<string>; ports: Promise<Map<string, Port[]>> } | undefined

  function open() {
    const serverIds = new Set<string>()
    const ports = sleep(joinMs).then(async () => {
      next = undefined
      return Map.groupBy(await list([...serverIds]), port => port.serverId)
    })
    // All callers may be aborted before it fails.
    ports.catch(() => {})
    return { serverIds, ports }
  }

  return {
    async ports(serverIds, signal) {
      if (serverIds.length === 0) return []
      next ??= open()
      for (const id of serverIds) next.serverIds.add(id)
      const found = await unlessAborted(next.ports, signal)
      return serverIds.flatMap(id => found.get(id) ?? [])
    },
  }
}

/** An aborted caller does not abort the request of the others. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work
  signal.throwIfAborted()
  const aborted = Promise.withResolvers<never>()
  const abort = () => aborted.reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted.promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
