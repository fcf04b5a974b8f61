/**
 * Addresses and networks in CIDR notation. Pure.
 */

/** The network of an IPv4 address with prefix: 10.20.0.17/22 → 10.20.0.0/22. IPv6 is returned unchanged. */
export function networkOf(cidr: string): string {
  const [, a, b, c, d, length] = /^(\d+)\.(\d+)\.(\d+)\.(\d+)\/(\d+)$/.exec(cidr)?.map(Number) ?? []
  if (length === undefined || length > 32) return cidr
  const bits = [a, b, c, d].reduce<number>((sum, byte) => sum * 256 + (byte ?? 0), 0)
  const size = 2 ** (32 - length)
  const base = Math.floor(bits / size) * size
  return `${[24, 16, 8, 0].map(shift => Math.floor(base / 2 ** shift) % 256).join('.')}/${length}`
}

export function withPrefix(address: string | undefined, cidr: string | undefined): string[] {
  if (address === undefined) return []
  const prefix = cidr?.split('/')[1]
  return [prefix === undefined ? address : `${address}/${prefix}`]
}

/** Number of host addresses of an IPv4 network. Undefined for IPv6, where the number says nothing. */
export function hostCapacity(network: string): number | undefined {
  const length = /^\d+\.\d+\.\d+\.\d+\/(\d+)$/.exec(network)?.[1]
  if (length === undefined) return undefined
  return Number(length) >= 31 ? 2 ** (32 - Number(length)) : 2 ** (32 - Number(length)) - 2
}
