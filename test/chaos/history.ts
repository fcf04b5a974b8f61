/**
 * What happens to the world in one run of chaos: acts of people and faults, in an order that a number decides. Pure.
 */
import { catalogue, type FaultName, faultNames } from '../../sandbox/faults/catalogue.ts'
import { indexesOf } from '../support/random.ts'

export type Act =
  | { act: 'attach'; port: string; vm: string; subnet: string }
  | { act: 'detach'; port: string }
  | { act: 'reboot'; vm: string }
  /** A network gets another MTU. */
  | { act: 'mtu'; subnet: string; mtu: number }
  /** A person takes a VM out of the OpenstackConfig, or puts it in again. */
  | { act: 'leave' | 'join'; vm: string }
  /** A person halts a node's config, or lets it go on. */
  | { act: 'pause' | 'resume'; vm: string }
  /** A person deletes the Jobs of a node. */
  | { act: 'delete-jobs'; vm: string }
  /** The second of a part leads, and has no way to the API server. */
  | { act: 'partition'; part: ReplicatedPart; forMs: number }
  /** The clock of a part is set, and put right again. */
  | { act: 'clock'; part: ClockedPart; offMs: number; forMs: number }
  | { act: 'fault'; word: FaultName; vm?: string; forMs: number }

/** Those of which two run. */
export const replicatedParts = ['operator', 'controller'] as const
export type ReplicatedPart = (typeof replicatedParts)[number]

export const clockedParts = ['operator', 'viola', 'controller', 'second-operator', 'second-controller'] as const
export type ClockedPart = (typeof clockedParts)[number]

/** With the time that passes after it. */
export type Step = Act & { thenMs: number }

export interface HistoryOptions {
  steps: number
  vms: readonly string[]
  subnets: readonly string[]
  /** Faults, dealt like cards: each has its turn before one comes again. */
  words: readonly FaultName[]
}

/** The cloud's numbers and ours leave room for this many. */
const mostPorts = 8
const mtus = [1_400, 1_450, 1_500, 9_000]
const hour = 3_600_000
const jumps = [-24 * hour, -hour, hour, 24 * hour]

/** All that a sandbox can have; without a broker of its own those of the bus are left out. */
export function wordsFor({ broker }: { broker: boolean }): FaultName[] {
  return faultNames.filter(word => broker || !/notifications|broker/.test(word))
}

export function historyOf(seed: number, { steps, vms, subnets, words: known }: HistoryOptions): Step[] {
  const random = indexesOf(seed)
  const below = (most: number) => Math.floor(random() * most)
  const pick = <T>(from: readonly T[]): T => from[below(from.length)] as T
  const attached = new Map<string, string>()
  const [away, paused] = [new Set<string>(), new Set<string>()]
  let made = 0
  let cards: FaultName[] = []

  const toggled = (set: Set<string>, vm: string): boolean => {
    const was = set.delete(vm)
    if (!was) set.add(vm)
    return was
  }
  const dealt = (): FaultName => {
    if (cards.length === 0) cards = [...known]
    return cards.splice(below(cards.length), 1)[0] as FaultName
  }
  const fault = (): Act => {
    const word = dealt()
    return { act: 'fault', word, ...(catalogue[word].perNode && { vm: pick(vms) }), forMs: 500 + below(5_000) }
  }
  const attach = (): Act => {
    const vm = pick(vms)
    if ([...attached.values()].filter(each => each === vm).length >= mostPorts) return fault()
    const port = `p${++made}`
    attached.set(port, vm)
    return { act: 'attach', port, vm, subnet: pick(subnets) }
  }
  const detach = (): Act => {
    const port = pick([...attached.keys()])
    if (port === undefined) return attach()
    attached.delete(port)
    return { act: 'detach', port }
  }
  const kinds: [weight: number, make: () => Act][] = [
    [8, attach],
    [4, detach],
    [18, fault],
    [1, () => ({ act: 'reboot', vm: pick(vms) })],
    [1, () => ({ act: 'mtu', subnet: pick(subnets), mtu: pick(mtus) })],
    [1, leaveOrJoin],
    [1, pauseOrResume],
    [1, () => ({ act: 'delete-jobs', vm: pick(vms) })],
    [1, () => ({ act: 'partition', part: pick(replicatedParts), forMs: 10_000 + below(15_000) })],
    [2, () => ({ act: 'clock', part: pick(clockedParts), offMs: pick(jumps), forMs: 1_000 + below(10_000) })],
  ]
  /** An object names one VM at least. */
  function leaveOrJoin(): Act {
    const vm = pick(vms)
    if (!away.has(vm) && away.size === vms.length - 1) return fault()
    return { act: toggled(away, vm) ? 'join' : 'leave', vm }
  }
  function pauseOrResume(): Act {
    const vm = pick(vms)
    return { act: toggled(paused, vm) ? 'resume' : 'pause', vm }
  }
  const weighed = kinds.flatMap(([weight, make]) => Array<() => Act>(weight).fill(make))
  return Array.from({ length: steps }, () => ({ ...pick(weighed)(), thenMs: below(900) }))
}

/** Pieces of a history that may fail as well, the shortest first: each half, then all but a quarter, then all but one. */
export function shorter(history: readonly Step[]): Step[][] {
  const without = (from: number, to: number) => [...history.slice(0, from), ...history.slice(to)]
  const cuts = (pieces: number) => {
    const size = Math.ceil(history.length / pieces)
    return Array.from({ length: pieces }, (_, at) => without(at * size, (at + 1) * size))
  }
  const found = [...cuts(2), ...cuts(4), ...(history.length <= 8 ? cuts(history.length) : [])]
  return found.filter(each => each.length > 0 && each.length < history.length)
}

export function told({ thenMs, ...act }: Step): string {
  const facts = Object.entries(act).map(([key, value]) => (key === 'act' ? value : `${key}=${value}`))
  return `${facts.join(' ')} then ${thenMs} ms`
}
