/**
 * Probes whether a host replies for an address (ARP, NDP), using neighbour entries of the kernel (`ip neigh … use`): no raw
 * socket, and no capability beyond NET_ADMIN. One process reads the entries of all targets and asks for all, as often as
 * needed.
 */
import type { Host } from '../host/host.ts'
import { readIpLists } from '../host/ip-read.ts'
import { type Link, type Neighbour, parseNeighbours } from '../state/observed.ts'

export interface ProbeTarget {
  ifindex: number
  address: string
}

/** MAC addresses that replied, by `targetKey`. */
export type NeighbourReplies = ReadonlyMap<string, string>

export interface ProbeOptions {
  /** Milliseconds. */
  timeout: number
  /** To find the device of an entry. */
  links: readonly Link[]
  /** The entries before the probe. */
  neighbours: readonly Neighbour[]
  /** Targets that the caller has just asked. The others are asked with the second attempt. */
  asked?: readonly ProbeTarget[]
  /** Waits for the timeout even if all have replied. */
  silence?: boolean
}

/** Packets may be lost right after a link goes up. */
const maxAttempts = 3
/** Milliseconds. */
const firstPoll = 20
const staticStates = ['PERMANENT', 'NOARP']

export function targetKey({ ifindex, address }: ProbeTarget): string {
  return `${ifindex} ${address}`
}

export async function probeNeighbours(
  host: Host,
  targets: readonly ProbeTarget[],
  { timeout, links, neighbours, asked = [], silence = false }: ProbeOptions,
): Promise<NeighbourReplies> {
  const replies = new Map<string, string>()
  const waiting = new Set(asked.map(targetKey))
  let known = neighbours
  // A static entry proves nothing and must not be changed.
  let silent = targets.filter(target => !isStatic(entryOf(neighbours, target)))
  if (silent.length === 0) return replies
  const readAndAsk = async (asks: readonly ProbeTarget[]) => {
    const commands = asks.flatMap(target => askCommands(target, known))
    known = parseNeighbours(await readThenRun(host, commands), links)
    for (const [key, macAddress] of repliesIn(
      known,
      silent.filter(target => waiting.has(targetKey(target))),
    ))
      replies.set(key, macAddress)
    for (const target of asks) waiting.add(targetKey(target))
    silent = silent.filter(target => !replies.has(targetKey(target)))
  }
  const isDone = () => silent.length === 0 && !silence
  const startedAt = host.monotonic()
  for (let attempt = asked.length > 0 ? 1 : 0; attempt <= maxAttempts && !isDone(); attempt++) {
    const due = startedAt + (timeout * attempt) / maxAttempts
    for (let pause = firstPoll; !silence && !isDone() && host.monotonic() + pause < due; pause *= 2) {
      await host.sleep(pause)
      await readAndAsk([])
    }
    if (isDone()) break
    // At least once: on a busy machine the commands alone may take all of the time, and the reply is there already.
    if (attempt > 0) await host.sleep(Math.max(firstPoll, due - host.monotonic()))
    await readAndAsk(attempt < maxAttempts ? silent : [])
  }
  return replies
}

/** The targets whose entries prove a reply. */
export function repliesIn(neighbours: readonly Neighbour[], targets: readonly ProbeTarget[]): NeighbourReplies {
  const replies = new Map<string, string>()
  for (const target of targets) {
    const { macAddress, states = [] } = entryOf(neighbours, target) ?? {}
    if (macAddress !== undefined && states.includes('REACHABLE')) replies.set(targetKey(target), macAddress)
  }
  return replies
}

/**
 * A known neighbour is probed by unicast and stays usable meanwhile; an unknown one by broadcast. The kernel repeats a
 * resolution only after a second, but starts at once with an entry that has failed. `neigh del` would end the whole batch
 * where there is no entry.
 */
export function askCommands(
  target: ProbeTarget,
  neighbours: readonly Neighbour[],
  replies: NeighbourReplies = new Map(),
): string[] {
  const entry = entryOf(neighbours, target)
  if (isStatic(entry)) return []
  const neighbour = `${target.address} dev if${target.ifindex}`
  const macAddress = replies.get(targetKey(target)) ?? entry?.macAddress
  if (macAddress !== undefined) return [`neigh replace ${neighbour} lladdr ${macAddress} nud probe`]
  return [`neigh replace ${neighbour} nud failed`, `neigh replace ${neighbour} use`]
}

/** Removes the entries that probing created. */
export function forgetCommands(targets: readonly ProbeTarget[]): string[] {
  return targets.flatMap(({ ifindex, address }) => {
    const neighbour = `${address} dev if${ifindex}`
    return [`neigh replace ${neighbour} nud failed`, `neigh del ${neighbour}`]
  })
}

/** Reads the entries and then runs the commands. A list that is not whole is read again. */
async function readThenRun(host: Host, commands: readonly string[]): Promise<unknown[]> {
  const { stdout, stderr } = await host.ip(['-N', '-j', '-force', '-batch', '-'], ['neigh show', ...commands])
  const [list] = stdout.split('\n')
  if (list?.endsWith(']') && !stderr.includes('Dump was interrupted')) return JSON.parse(list) as unknown[]
  const [items = []] = await readIpLists(host, ['neigh show'])
  return items
}

function entryOf(neighbours: readonly Neighbour[], { ifindex, address }: ProbeTarget): Neighbour | undefined {
  return neighbours.find(entry => entry.ifindex === ifindex && entry.address === address)
}

function isStatic(entry: Neighbour | undefined): boolean {
  return entry !== undefined && staticStates.some(state => entry.states.includes(state))
}
