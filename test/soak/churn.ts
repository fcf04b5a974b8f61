/**
 * What people do to a fleet all day, in an order that a number decides. Pure.
 */
import { indexesOf } from '../support/random.ts'

export type Deed =
  | { act: 'attach' | 'detach' | 'rename' | 'reboot'; vm: number }
  /** A person takes a VM out of its OpenstackConfig, or puts it in again. */
  | { act: 'leave' | 'join'; vm: number }
  /** A person deletes what was delivered for a node. */
  | { act: 'delete-node-config'; vm: number }
  /** The network of a group gets another MTU. */
  | { act: 'mtu'; group: number; mtu: number }
  /** An OpenstackConfig is deleted and made again. */
  | { act: 'remake'; group: number }

export interface ChurnOptions {
  vms: number
  groups: number
  portsAtFirst: number
}

/** The cloud's numbers and ours leave room for ten; some are still on their way out. */
const mostPorts = 6
const mtus = [1_400, 1_450, 1_500]

export function churnOf(seed: number, { vms, groups, portsAtFirst }: ChurnOptions): () => Deed {
  const random = indexesOf(seed)
  const below = (most: number) => Math.floor(random() * most)
  const ports = Array<number>(vms).fill(portsAtFirst)
  const away = new Set<number>()

  const attachOrDetach = (): Deed => {
    const vm = below(vms)
    const has = ports[vm] ?? 0
    const grows = has <= 1 || (has < mostPorts && random() < 0.5)
    ports[vm] = has + (grows ? 1 : -1)
    return { act: grows ? 'attach' : 'detach', vm }
  }
  const leaveOrJoin = (): Deed => {
    const vm = below(vms)
    if (away.delete(vm)) return { act: 'join', vm }
    // Those who are away come back before too many are.
    const [longest] = away
    if (longest !== undefined && away.size >= Math.ceil(vms / 100)) {
      away.delete(longest)
      return { act: 'join', vm: longest }
    }
    away.add(vm)
    return { act: 'leave', vm }
  }
  const ofVm = (act: 'rename' | 'reboot' | 'delete-node-config') => (): Deed => ({ act, vm: below(vms) })
  const kinds: [weight: number, make: () => Deed][] = [
    [120, attachOrDetach],
    [24, ofVm('reboot')],
    [16, leaveOrJoin],
    [12, ofVm('rename')],
    [8, ofVm('delete-node-config')],
    [2, () => ({ act: 'mtu', group: below(groups), mtu: mtus[below(mtus.length)] ?? 1_500 })],
    [1, () => ({ act: 'remake', group: below(groups) })],
  ]
  const weighed = kinds.flatMap(([weight, make]) => Array<() => Deed>(weight).fill(make))
  return () => (weighed[below(weighed.length)] ?? attachOrDetach)()
}
