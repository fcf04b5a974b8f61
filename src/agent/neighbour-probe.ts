/**
 * Asks on the wire whether somebody answers for an address, by neighbour entries of the kernel (`ip neigh … use`): no raw
 * socket, and no capability beyond NET_ADMIN. All questions are asked at once.
 */
import type { Host } from './host.ts'
import { jsonArrays, type Link } from './observed.ts'

export interface Target {
  ifindex: number
  address: string
}

/** MACs that answered, by `targetKey`. */
export type Answers = ReadonlyMap<string, string>

interface Entry {
  mac?: string
  states: string[]
}

/** A packet may be lost while a link settles: who is silent is asked again. */
const asks = 4
const firstPoll = 20
const sayNothing = ['PERMANENT', 'NOARP']

export function targetKey({ ifindex, address }: Target): string {
  return `${ifindex} ${address}`
}

export async function askWire(
  host: Host,
  targets: readonly Target[],
  links: readonly Link[],
  within: number,
): Promise<Answers> {
  const answers = new Map<string, string>()
  let silent = [...new Map(targets.map(target => [targetKey(target), target])).values()]
  const until = host.now() + within
  let entries = silent.length > 0 ? await neighbours(host, links) : new Map<string, Entry>()
  for (let ask = 1; ask <= asks && silent.length > 0; ask++) {
    // An entry that a person made says nothing about the wire, and is not ours to change.
    silent = silent.filter(target => !sayNothing.some(state => entries.get(targetKey(target))?.states.includes(state)))
    await host.ip(
      ['-force', '-batch', '-'],
      silent.flatMap(target => question(target, entries.get(targetKey(target)))),
    )
    const next = ask === asks ? until : until - (within * (asks - ask)) / asks
    // Once at least: on a busy machine the asking alone may take all of the time, and the answer is there.
    for (let pause = firstPoll; silent.length > 0 && (pause === firstPoll || host.now() < next); pause *= 2) {
      await host.sleep(Math.min(pause, Math.max(firstPoll, next - host.now())))
      entries = await neighbours(host, links)
      silent = silent.filter(target => {
        const { mac, states = [] } = entries.get(targetKey(target)) ?? {}
        if (mac === undefined || !states.includes('REACHABLE')) return true
        answers.set(targetKey(target), mac)
        return false
      })
    }
  }
  return answers
}

/** Entries that were made by asking are of no use to anybody. */
export async function forget(host: Host, targets: readonly Target[]): Promise<void> {
  if (targets.length === 0) return
  await host.ip(
    ['-force', '-batch', '-'],
    targets.map(({ ifindex, address }) => `neigh del ${address} dev if${ifindex}`),
  )
}

/**
 * Who is known is asked by its MAC and stays known meanwhile; who is not is asked of everybody. The kernel would repeat a
 * question without an answer only after a second: a new entry asks at once.
 */
function question({ ifindex, address }: Target, entry: Entry | undefined): string[] {
  const place = `${address} dev if${ifindex}`
  if (entry?.mac !== undefined) return [`neigh replace ${place} lladdr ${entry.mac} nud probe`]
  return [...(entry ? [`neigh del ${place}`] : []), `neigh replace ${place} use`]
}

async function neighbours(host: Host, links: readonly Link[]): Promise<Map<string, Entry>> {
  const { stdout } = await host.ip(['-j', 'neigh', 'show'])
  const [raw = []] = jsonArrays(stdout)
  const index = new Map(links.map(link => [link.name, link.ifindex]))
  return new Map(
    (raw as { dst: string; dev: string; lladdr?: string; state?: string[] }[]).map(({ dst, dev, lladdr, state }) => [
      targetKey({ ifindex: index.get(dev) ?? 0, address: dst }),
      { ...(lladdr === undefined ? {} : { mac: lladdr }), states: state ?? [] },
    ]),
  )
}
