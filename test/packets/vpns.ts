/**
 * What other programs do to the node's routes after the agent configured the NICs: VPNs and routing daemons. Each is a list of
 * lines for `ip -batch`, and the lines that take it back.
 *
 * Pure.
 */
export const tunnel = 'wg0'

export const vpnNames = [
  'none',
  '10/8 and fc00::/7 over a tunnel',
  'OpenVPN halves',
  'blackhole 10/8 and fd00::/8',
  'wg-quick full tunnel',
  '1,000 BGP routes',
  'more specific routes into N',
] as const
export type Vpn = (typeof vpnNames)[number]

export interface VpnLines {
  up: string[]
  down: string[]
}

/** Each line begins with the family. */
function routes(lines: readonly string[]): VpnLines {
  return {
    up: lines.map(line => line.replace(/^-(.) /, '-$1 route add ')),
    down: lines.map(line => line.replace(/^-(.) /, '-$1 route del ')),
  }
}

const viaTunnel = (family: 4 | 6, destinations: readonly string[]) =>
  destinations.map(destination => `-${family} ${destination} dev ${tunnel}`)

const bgp = Array.from({ length: 999 }, (_, index) => `10.${200 + Math.floor(index / 250)}.${index % 250}.0/24`)

export const vpns: Record<Vpn, VpnLines> = {
  none: { up: [], down: [] },
  '10/8 and fc00::/7 over a tunnel': routes([...viaTunnel(4, ['10.0.0.0/8']), ...viaTunnel(6, ['fc00::/7'])]),
  'OpenVPN halves': routes([
    ...viaTunnel(4, ['0.0.0.0/1', '128.0.0.0/1']),
    ...viaTunnel(6, ['::/1', '8000::/1', '2000::/3']),
  ]),
  'blackhole 10/8 and fd00::/8': routes(['-4 blackhole 10.0.0.0/8', '-6 blackhole fd00::/8']),
  'wg-quick full tunnel': {
    up: [4, 6].flatMap(family => [
      `-${family} route add default dev ${tunnel} table 51820`,
      `-${family} rule add not fwmark 51820 table 51820`,
      `-${family} rule add table main suppress_prefixlength 0`,
    ]),
    down: [4, 6].flatMap(family => [
      `-${family} rule del not fwmark 51820 table 51820`,
      `-${family} rule del table main suppress_prefixlength 0`,
      `-${family} route del default dev ${tunnel} table 51820`,
    ]),
  },
  // One of them covers the far client.
  '1,000 BGP routes': routes([
    ...bgp.map(network => `-4 ${network} via 10.0.0.1 proto bird`),
    '-4 10.9.0.0/24 via 10.0.0.1 proto bird',
    '-6 fd00:f9::/64 via fd00:a::1 proto bird',
  ]),
  'more specific routes into N': routes([
    ...viaTunnel(4, ['10.100.0.64/26', '10.100.0.71/32']),
    ...viaTunnel(6, ['fd00::4000/114', 'fd00::5001/128']),
  ]),
}
