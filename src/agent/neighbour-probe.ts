/**
 * Probes whether a host replies for an address (ARP, NDP), using neighbour entries of the kernel (`ip neigh … use`): no raw
 * socket, and no capability beyond NET_ADMIN. All targets are probed at once.
 */
import type { Host } from './host.ts'
import { readIpLists } from './ip-read.ts'
import type { Link } from './observed.ts'

export interface ProbeTarget {
  ifindex: number
  address: string
}

/** MAC addresses that replied, by `targetKey`. */
export type NeighbourReplies = ReadonlyMap<string, string>

interface NeighbourEntry {
  macAddress?: string
  states: string[]
}

/** Packets may be lost right after a link goes up. */
const maxAttempts = 4
/** Milliseconds. */
const firstPoll = 20
const staticStates = ['PERMANENT', 'NOARP']

export function targetKey({ ifindex, address }: ProbeTarget): string {
  return `${ifindex} ${address}`
}

export async function probeNeighbours(
  host: Host,
  targets: readonly ProbeTarget[],
  links: readonly Link[],
  timeout: number,
): Promise<NeighbourReplies> {
  const replies = new Map<string, string>()
  let silent = [...new Map(targets.map(target => [targetKey(target), target])).values()]
  const until = host.now() + timeout
  let entries = silent.length > 0 ? await readNeighbours(host, links) : new Map<string, NeighbourEntry>()
  for (let attempt = 1; attempt <= maxAttempts && silent.length > 0; attempt++) {
    // A static entry proves nothing and must not be changed.
    silent = silent.filter(
      target => !staticStates.some(state => entries.get(targetKey(target))?.states.includes(state)),
    )
    await host.ip(
      ['-force', '-batch', '-'],
      silent.flatMap(target => probeCommands(target, entries.get(targetKey(target)))),
    )
    const next = attempt === maxAttempts ? until : until - (timeout * (maxAttempts - attempt)) / maxAttempts
    // At least once: on a busy machine the commands alone may take all of the time, and the reply is there already.
    for (let pause = firstPoll; silent.length > 0 && (pause === firstPoll || host.now() < next); pause *= 2) {
      await host.sleep(Math.min(pause, Math.max(firstPoll, next - host.now())))
      entries = await readNeighbours(host, links)
      silent = silent.filter(target => {
        const { macAddress, states = [] } = entries.get(targetKey(target)) ?? {}
        if (macAddress === undefined || !states.includes('REACHABLE')) return true
        replies.set(targetKey(target), macAddress)
        return false
      })
    }
  }
  return replies
}

/** Removes the entries that probing created. */
export async function removeNeighbourEntries(host: Host, targets: readonly ProbeTarget[]): Promise<void> {
  if (targets.length === 0) return
  await host.ip(
    ['-force', '-batch', '-'],
    targets.map(({ ifindex, address }) => `neigh del ${address} dev if${ifindex}`),
  )
}

/**
 * A known neighbour is probed by unicast and stays usable meanwhile; an unknown one by broadcast. The kernel repeats a
 * failed resolution only after a second, so the entry is replaced: a new one is resolved at once.
 */
function probeCommands({ ifindex, address }: ProbeTarget, entry: NeighbourEntry | undefined): string[] {
  const neighbour = `${address} dev if${ifindex}`
  if (entry?.macAddress !== undefined) return [`neigh replace ${neighbour} lladdr ${entry.macAddress} nud probe`]
  return [...(entry ? [`neigh del ${neighbour}`] : []), `neigh replace ${neighbour} use`]
}

async function readNeighbours(host: Host, links: readonly Link[]): Promise<Map<string, NeighbourEntry>> {
  const [raw = []] = await readIpLists(host, ['neigh show'])
  const index = new Map(links.map(link => [link.name, link.ifindex]))
  return new Map(
    (raw as { dst: string; dev: string; lladdr?: string; state?: string[] }[]).map(({ dst, dev, lladdr, state }) => [
      targetKey({ ifindex: index.get(dev) ?? 0, address: dst }),
      { ...(lladdr === undefined ? {} : { macAddress: lladdr }), states: state ?? [] },
    ]),
  )
}
