/**
 * Changes to a fleet during a working day, in an order that the seed determines. Pure.
 */
import { indexesOf } from '../support/random.ts'

export type Action =
  | { kind: 'attach' | 'detach' | 'rename' | 'reboot'; vm: number }
  /** A user removes a VM from its OpenstackConfig, or adds it again. */
  | { kind: 'exclude-vm' | 'include-vm'; vm: number }
  /** A user deletes a node config. */
  | { kind: 'delete-node-config'; vm: number }
  /** The MTU of the network of a group changes. */
  | { kind: 'mtu'; group: number; mtu: number }
  /** An OpenstackConfig is deleted and created again. */
  | { kind: 'recreate'; group: number }

export interface ChurnOptions {
  vms: number
  groups: number
  portsAtFirst: number
}

/** The limit is ten interfaces, some of which may still be in removal. */
const maxPorts = 6
const mtus = [1_400, 1_450, 1_500]

export function churnOf(seed: number, { vms, groups, portsAtFirst }: ChurnOptions): () => Action {
  const random = indexesOf(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const ports = Array<number>(vms).fill(portsAtFirst)
  const excluded = new Set<number>()

  const attachOrDetach = (): Action => {
    const vm = below(vms)
    const count = ports[vm] ?? 0
    const grows = count <= 1 || (count < maxPorts && random() < 0.5)
    ports[vm] = count + (grows ? 1 : -1)
    return { kind: grows ? 'attach' : 'detach', vm }
  }
  const excludeOrInclude = (): Action => {
    const vm = below(vms)
    if (excluded.delete(vm)) return { kind: 'include-vm', vm }
    // Limit the number of excluded VMs.
    const [first] = excluded
    if (first !== undefined && excluded.size >= Math.ceil(vms / 100)) {
      excluded.delete(first)
      return { kind: 'include-vm', vm: first }
    }
    excluded.add(vm)
    return { kind: 'exclude-vm', vm }
  }
  const ofVm = (kind: 'rename' | 'reboot' | 'delete-node-config') => (): Action => ({ kind, vm: below(vms) })
  const kinds: [weight: number, make: () => Action][] = [
    [120, attachOrDetach],
    [24, ofVm('reboot')],
    [16, excludeOrInclude],
    [12, ofVm('rename')],
    [8, ofVm('delete-node-config')],
    [2, () => ({ kind: 'mtu', group: below(groups), mtu: mtus[below(mtus.length)] ?? 1_500 })],
    [1, () => ({ kind: 'recreate', group: below(groups) })],
  ]
  const weighted = kinds.flatMap(([weight, make]) => Array<() => Action>(weight).fill(make))
  return () => (weighted[below(weighted.length)] ?? attachOrDetach)()
}
