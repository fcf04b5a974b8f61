/**
 * Addresses in the cells of the matrix, without the part that all of them share. Pure.
 */
import type { Node } from '../model/nodes.ts'

/** The first octet without its dot, if all addresses share it. */
export function commonPrefix(nodes: readonly Node[]): string {
  const [first = '', ...others] = nodes.flatMap(({ nics }) =>
    nics.flatMap(({ address }) => (/^\d+(?=\.)/.exec(address) ?? []).slice(0, 1)),
  )
  return others.every(each => each === first) ? first : ''
}

/** `.20.0.42`: the leading dot shows that something is left out. */
export function withoutPrefix(address: string, prefix: string): string {
  const plain = address.split('/')[0] ?? ''
  return prefix && plain.startsWith(`${prefix}.`) ? plain.slice(prefix.length) : plain
}
