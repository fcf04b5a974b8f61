/**
 * Interprets the network files of a node as udev (.link), Netplan with networkd, and systemd-sysctl do at boot. Knows only the
 * keys that the agent and cloud-init write, and reports all others.
 *
 * Pure: takes file contents, returns commands.
 */
import { parse } from 'yaml'
import { z } from 'zod'

/** Content by path below /. */
export type Files = ReadonlyMap<string, string>

export interface Link {
  ifname: string
  address: string
}

export interface BootPlan {
  /** For `ip -batch`. */
  ip: string[]
  /** For `ip -force -batch`, after the rest: what all NICs share. */
  shared: string[]
  /** For `nft -f`. */
  nft: string
  /** Paths below /proc/sys. */
  sysctls: { path: string; value: string }[]
  /** Keys that are not supported here. */
  unknown: string[]
}

const text = z.union([z.string(), z.number()]).transform(String)
const address = z.union([z.string(), z.record(z.string(), z.unknown()).transform(it => Object.keys(it)[0] ?? '')])
const route = z.strictObject({
  to: text,
  via: text.optional(),
  from: text.optional(),
  table: text.optional(),
  metric: text.optional(),
  scope: text.optional(),
  mtu: text.optional(),
  'on-link': z.boolean().optional(),
})
const rule = z.strictObject({
  from: text.optional(),
  to: text.optional(),
  table: text,
  priority: text.optional(),
})
const ethernet = z.strictObject({
  match: z.strictObject({ macaddress: z.string().optional(), name: z.string().optional() }).optional(),
  'set-name': z.string().optional(),
  mtu: text.optional(),
  addresses: z.array(address).optional(),
  routes: z.array(route).optional(),
  'routing-policy': z.array(rule).optional(),
  dhcp4: z.boolean().optional(),
  dhcp6: z.boolean().optional(),
  'accept-ra': z.boolean().optional(),
  'link-local': z.array(z.string()).optional(),
  optional: z.boolean().optional(),
  renderer: z.literal('networkd').optional(),
})
const netplan = z.object({
  network: z.strictObject({
    version: z.literal(2),
    renderer: z.literal('networkd').optional(),
    ethernets: z.record(z.string(), z.unknown()).optional(),
  }),
})

type Ethernet = z.infer<typeof ethernet>
type Route = z.infer<typeof route>

export function readBoot(files: Files, links: Link[]): BootPlan {
  const plan: BootPlan = {
    ip: [],
    shared: [
      ...linesOf(unitInput(files, 'multinic-primary.service', 'primary-rules.batch')),
      ...linesOf(unitInput(files, 'multinic-primary.service', 'primary-rules6.batch')).map(line => `-6 ${line}`),
      ...linesOf(unitInput(files, 'multinic-primary.service', 'primary-routes.batch')),
    ],
    nft: unitInput(files, 'multinic-nft.service', 'multinic.nft'),
    sysctls: [],
    unknown: [],
  }
  const names = new Map(links.map(link => [link.address.toLowerCase(), link.ifname]))

  function rename(mac: string, to: string): void {
    const from = names.get(mac)
    if (!from || from === to) return
    plan.ip.push(`link set dev ${from} name ${to}`)
    names.set(mac, to)
  }

  for (const [path, content] of matching(files, /^etc\/systemd\/network\/[^/]+\.link$/)) {
    const sections = ini(content)
    const mac = (sections.get('Match.MACAddress') ?? sections.get('Match.PermanentMACAddress'))?.[0]?.toLowerCase()
    const name = sections.get('Link.Name')?.[0]
    const mtu = sections.get('Link.MTUBytes')?.[0]
    if (!mac) plan.unknown.push(`${path}: [Match] without MACAddress`)
    if (!mac || !names.has(mac)) continue
    if (name) rename(mac, name)
    if (mtu) plan.ip.push(`link set dev ${names.get(mac)} mtu ${mtu}`)
    for (const alias of sections.get('Link.AlternativeName') ?? [])
      plan.ip.push(`link property add dev ${names.get(mac)} altname ${alias}`)
    for (const key of sections.keys()) if (!knownLink.includes(key)) plan.unknown.push(`${path}: ${key}`)
  }

  for (const [path, content] of matching(files, /^etc\/sysctl\.d\/[^/]+\.conf$/))
    for (const [key, value] of assignments(content)) {
      const parts = key.replace(/^-/, '')
      const at = parts.includes('/') ? parts : parts.replaceAll('.', '/')
      const device = /^net\/ipv[46]\/(?:conf|neigh)\/([^/]+)\//.exec(at)?.[1]
      if (!device) plan.unknown.push(`${path}: ${key}`)
      else if ([...names.values(), 'all', 'default'].includes(device)) plan.sysctls.push({ path: at, value })
    }

  for (const [path, content] of matching(files, /^etc\/netplan\/[^/]+\.yaml$/)) {
    const file = netplan.safeParse(yamlOf(content))
    if (!file.success) {
      plan.unknown.push(`${path}: ${z.prettifyError(file.error)}`)
      continue
    }
    for (const [id, raw] of Object.entries(file.data.network.ethernets ?? {})) {
      const parsed = ethernet.safeParse(raw)
      if (!parsed.success) {
        plan.unknown.push(`${path}: ${id}: ${z.prettifyError(parsed.error)}`)
        continue
      }
      const mac = parsed.data.match?.macaddress?.toLowerCase()
      // A NIC with DHCP is the primary one, which is up already.
      if (parsed.data.dhcp4 || (mac && !names.has(mac))) continue
      if (mac && parsed.data['set-name']) rename(mac, parsed.data['set-name'])
      const device = mac ? names.get(mac) : id
      if (device && [...names.values()].includes(device))
        plan.ip.push(...bringUp(device, parsed.data, networkdFile(files, id, plan)))
    }
  }
  return plan
}

function linesOf(text: string): string[] {
  return text.split('\n').filter(Boolean)
}

/** What a unit of ours loads; nothing without the unit. */
function unitInput(files: Files, unit: string, name: string): string {
  return files.has(`etc/systemd/system/${unit}`) ? (files.get(`etc/multinic/${name}`) ?? '') : ''
}

function bringUp(device: string, nic: Ethernet, file: NetworkdFile): string[] {
  const mtu = file.mtu ?? nic.mtu
  const rules: Rule[] = file.rules ?? nic['routing-policy'] ?? []
  return [
    ...(mtu ? [`link set dev ${device} mtu ${mtu}`] : []),
    ...(nic['link-local']?.length === 0 ? [`link set dev ${device} addrgenmode none`] : []),
    `link set dev ${device} up`,
    ...(nic.addresses ?? []).map(
      each =>
        `addr add ${each} dev ${device}${file.withoutPrefixRoute.has(each) ? ' noprefixroute' : ''}${each.includes(':') ? ' nodad' : ''}`,
    ),
    ...(file.routes ?? nic.routes ?? []).map(each => routeLine(device, each)),
    ...rules.map(({ from, to, table, priority, family, ...more }) =>
      commandLine(
        `${family === 'ipv6' ? '-6 ' : familyOf(from ?? to)}rule add`,
        { from: from ?? (to ? undefined : 'all'), to, ...more, table, priority },
        'protocol static',
      ),
    ),
  ]
}

function routeLine(device: string, { to, via, from, table, metric, scope, mtu, ...rest }: Route): string {
  const target = to === 'default' || to === '0.0.0.0/0' || to === '::/0' ? 'default' : to
  const more = { via, dev: device, src: from, table, metric, scope, mtu }
  return commandLine(
    `${familyOf(via ?? to)}route add ${target}`,
    more,
    `proto static${rest['on-link'] ? ' onlink' : ''}`,
  )
}

function familyOf(address: string | undefined): string {
  return address?.includes(':') ? '-6 ' : ''
}

function commandLine(head: string, options: Record<string, string | undefined>, tail: string): string {
  const given = Object.entries(options).flatMap(([key, value]) => (value === undefined ? [] : [`${key} ${value}`]))
  return [head, ...given, tail].join(' ')
}

type Rule = z.infer<typeof rule> & { suppress_prefixlength?: string; iif?: string; fwmark?: string; family?: string }

interface NetworkdFile {
  withoutPrefixRoute: Set<string>
  /** Instead of those in the Netplan file. */
  mtu?: string
  routes?: Route[]
  rules?: Rule[]
}

/** Of a .network file that precedes the Netplan one, or of a drop-in of it: what Netplan has no key for. */
function networkdFile(files: Files, id: string, plan: BootPlan): NetworkdFile {
  const found: Required<Omit<NetworkdFile, 'mtu'>> & { mtu?: string } = {
    withoutPrefixRoute: new Set(),
    routes: [],
    rules: [],
  }
  const own = `etc/systemd/network/05-${id}.network`
  const pattern = new RegExp(`^etc/systemd/network/10-netplan-${id}\\.network\\.d/[^/]+\\.conf$`)
  for (const [path, content] of [...files].filter(([path]) => path === own || pattern.test(path)))
    for (const section of content.split(/^(?=\[)/m)) {
      const values = ini(section)
      const value = (key: string) => values.get(key)?.[0]
      const address = value('Address.Address')
      if (address && value('Address.AddPrefixRoute') === 'no') found.withoutPrefixRoute.add(address)
      const mtu = value('Link.MTUBytes')
      if (mtu) found.mtu = mtu
      if (section.startsWith('[Route]')) found.routes.push(networkdRoute(value))
      if (section.startsWith('[RoutingPolicyRule]')) found.rules.push(networkdRule(value))
      for (const key of values.keys())
        if (!knownDropIn.includes(key) && !knownNetwork.test(key)) plan.unknown.push(`${path}: ${key}`)
    }
  return files.has(own) ? found : { withoutPrefixRoute: found.withoutPrefixRoute }
}

function networkdRoute(value: (key: string) => string | undefined): Route {
  const to = value('Route.Destination') ?? ''
  return {
    to,
    via: value('Route.Gateway'),
    from: value('Route.PreferredSource'),
    table: value('Route.Table'),
    metric: value('Route.Metric'),
    scope: value('Route.Scope'),
    'on-link': value('Route.GatewayOnLink') === 'yes',
  }
}

function networkdRule(value: (key: string) => string | undefined): Rule {
  return {
    from: value('RoutingPolicyRule.From'),
    to: value('RoutingPolicyRule.To'),
    table: value('RoutingPolicyRule.Table') ?? '254',
    priority: value('RoutingPolicyRule.Priority'),
    ...optional('suppress_prefixlength', value('RoutingPolicyRule.SuppressPrefixLength')),
    ...optional('iif', value('RoutingPolicyRule.IncomingInterface')),
    ...optional('fwmark', value('RoutingPolicyRule.FirewallMark')),
    ...optional('family', value('RoutingPolicyRule.Family')),
  }
}

function optional<K extends string>(key: K, value: string | undefined): { [P in K]?: string } {
  return value === undefined ? {} : ({ [key]: value } as { [P in K]?: string })
}

const knownLink = [
  ...['Match.MACAddress', 'Match.Property', 'Match.PermanentMACAddress', 'Match.Type'],
  ...['Link.Name', 'Link.MTUBytes', 'Link.AlternativeName', 'Link.Description'],
]
/** Those of [Match] and [Link] repeat the Netplan file, which is read. */
const knownNetwork =
  /^((Match|Link)\.\w+|Route\.(Destination|Gateway|PreferredSource|Table|Metric|Scope|GatewayOnLink)|RoutingPolicyRule\.(Family|FirewallMark|IncomingInterface|From|To|Table|Priority|SuppressPrefixLength))$/
const knownDropIn = [
  'Address.Address',
  'Address.Broadcast',
  'Address.AddPrefixRoute',
  'Network.LinkLocalAddressing',
  'Network.IPv6AcceptRA',
]

function matching(files: Files, pattern: RegExp): [string, string][] {
  return [...files].filter(([path]) => pattern.test(path)).sort(([a], [b]) => (a < b ? -1 : 1))
}

function ini(content: string): Map<string, string[]> {
  const found = new Map<string, string[]>()
  let section = ''
  for (const line of content.split('\n').map(each => each.trim())) {
    const head = /^\[(\w+)\]$/.exec(line)?.[1]
    const [, key, value] = /^([\w]+)\s*=\s*(.*)$/.exec(line) ?? []
    if (head) section = head
    else if (key) found.set(`${section}.${key}`, [...(found.get(`${section}.${key}`) ?? []), value ?? ''])
  }
  return found
}

function assignments(content: string): [string, string][] {
  const lines = content.split('\n').map(line => line.trim())
  return lines.flatMap(line => {
    const [, key, value] = /^([^#;=\s][^=\s]*)\s*=\s*(.*)$/.exec(line) ?? []
    return key && value !== undefined ? [[key, value] as [string, string]] : []
  })
}

function yamlOf(content: string): unknown {
  try {
    return parse(content)
  } catch {
    return undefined
  }
}
