/**
 * The addresses of the packet suite by name, and the layouts of a node's NICs. Rows of the table use only these names, so that
 * the same rows can run on another testbed.
 *
 * Pure.
 */
export type Family = 4 | 6
export const families: readonly Family[] = [4, 6]

export interface PlannedNic {
  /** The index of its subnet, or the primary's subnet. */
  net: number | 'primary'
  host: number
}

/** The NICs of the node by index. */
export const layouts = {
  'one NIC': [{ net: 0, host: 10 }],
  'two NICs in one subnet and one between them': [
    { net: 0, host: 10 },
    { net: 1, host: 10 },
    { net: 0, host: 12 },
  ],
  "a NIC in the primary's subnet": [
    { net: 0, host: 10 },
    { net: 'primary', host: 77 },
  ],
  'ten NICs in own subnets': Array.from({ length: 10 }, (_, net) => ({ net, host: 10 })),
} satisfies Record<string, readonly PlannedNic[]>
export type Layout = keyof typeof layouts
export const layoutNames = Object.keys(layouts) as Layout[]

/**
 * P: the primary's address. A: that of the first NIC, in subnet N. A2: the second NIC in N. B: the last NIC in another subnet.
 * AP: the NIC in the primary's subnet. VIP and VIP-P are on the first NIC and on the primary, VIP-D on no interface.
 * The node does not masquerade the `routed pod`: its address is an allowed address pair of the first NIC, and hosts have a route to it.
 * `covered` is a second address of the client on link: the VPN with more specific routes has a route to it.
 */
export type Name =
  | 'P'
  | 'A'
  | 'A2'
  | 'B'
  | 'AP'
  | 'VIP'
  | 'VIP-P'
  | 'VIP-D'
  | 'external IP'
  | 'service'
  | 'client'
  | 'covered'
  | 'far'
  | 'peer'
  | 'pod'
  | 'routed pod'
  | 'remote pod'
  | 'cni0'

export function addressIn(net: number | 'primary', host: number, family: Family): string {
  if (net === 'primary') return family === 4 ? `10.0.0.${host}` : `fd00:a::${host}`
  return family === 4 ? `10.${100 + net}.0.${host}` : `fd00:${net === 0 ? '' : net}::${host}`.replace(':::', '::')
}

export function subnetOf(net: number | 'primary', family: Family): string {
  const network = addressIn(net, 0, family)
  return family === 4 ? `${network}/24` : `${network.replace(/0$/, '')}/64`
}

const fixed: Partial<Record<Name, readonly [string, string]>> = {
  P: [addressIn('primary', 10, 4), addressIn('primary', 10, 6)],
  VIP: [addressIn(0, 200, 4), addressIn(0, 200, 6)],
  'VIP-P': [addressIn('primary', 200, 4), addressIn('primary', 200, 6)],
  'VIP-D': [addressIn(0, 202, 4), addressIn(0, 202, 6)],
  'external IP': ['203.0.113.7', 'fd00:ee::7'],
  service: ['10.96.0.50', 'fd00:96::50'],
  client: [addressIn(0, 50, 4), addressIn(0, 50, 6)],
  covered: [addressIn(0, 70, 4), 'fd00::4001'],
  far: ['10.9.0.2', 'fd00:f9::2'],
  peer: [addressIn('primary', 11, 4), addressIn('primary', 11, 6)],
  pod: ['10.244.0.5', 'fd00:244::5'],
  'routed pod': ['10.244.0.6', 'fd00:244::6'],
  'remote pod': ['10.244.1.5', 'fd00:244:1::5'],
  cni0: ['10.244.0.1', 'fd00:244::1'],
}

/** The index of the NIC that a name belongs to; undefined when the layout has no such NIC, or the name is not on a NIC. */
export function nicOf(name: Name, layout: Layout): number | undefined {
  const nics: readonly PlannedNic[] = layouts[layout]
  const find = (matches: (nic: PlannedNic, index: number) => boolean) => {
    const index = nics.findLastIndex(matches)
    return index < 0 ? undefined : index
  }
  const second = find(({ net }, index) => net === 0 && index > 0)
  switch (name) {
    case 'A':
    case 'VIP':
    case 'external IP':
      return 0
    case 'A2':
      return second
    case 'VIP-D':
      return second ?? 0
    case 'B':
      return find(({ net }) => net !== 0 && net !== 'primary')
    case 'AP':
      return find(({ net }) => net === 'primary')
    default:
      return undefined
  }
}

/** Undefined when the layout has no such address. */
export function addressOf(name: Name, layout: Layout, family: Family): string | undefined {
  const known = fixed[name]
  if (known) return known[family === 4 ? 0 : 1]
  const nic = nicOf(name, layout)
  const planned = nic === undefined ? undefined : (layouts[layout] as readonly PlannedNic[])[nic]
  return planned && addressIn(planned.net, planned.host, family)
}

const names: readonly Name[] = ['A', 'A2', 'B', 'AP', ...(Object.keys(fixed) as Name[])]

/** The name of an address that the other end saw, or the address itself. */
export function nameOf(address: string, layout: Layout, family: Family): string {
  return names.find(name => addressOf(name, layout, family) === address) ?? address
}

/** The device of the node that has the name's address, or that serves it. */
export function deviceOf(name: Name, layout: Layout): string {
  const nic = nicOf(name, layout)
  return nic === undefined ? 'ens3' : `multinic${nic}`
}
