/**
 * How the rules of a node are parsed from `ip -j rule`.
 *
 * Pure.
 */
import { bitsOf, type Family } from '../../contract/address.ts'
import { everySource, type ObservedRule } from '../state/observed.ts'

type RawRule = Record<string, unknown> & {
  priority: number
  table?: string
  protocol?: string
  src?: string
  srclen?: number
  dst?: string
  dstlen?: number
  iif?: string
  fwmark?: string
  fwmask?: string
  not?: null
  goto?: number
  nop?: null
  suppress_prefixlen?: number
}

/** `unresolved`: no rule has the target of the goto. `iif_detached`: no device has the name. */
const ruleKeys = new Set([
  ...['priority', 'src', 'srclen', 'dst', 'dstlen', 'iif', 'iif_detached', 'fwmark', 'fwmask', 'not'],
  ...['goto', 'nop', 'unresolved', 'table', 'protocol', 'suppress_prefixlen'],
])

export function parseRules(raw: unknown[], family: Family): ObservedRule[] {
  return (raw as RawRule[]).map(entry => ({
    family,
    priority: entry.priority,
    table: Number(entry.table ?? 0),
    ...selector('from', entry.src, entry.srclen, family),
    ...selector('to', entry.dst, entry.dstlen, family),
    ...restOf(entry, family),
    ...(entry.suppress_prefixlen === undefined ? {} : { suppressPrefixLength: entry.suppress_prefixlen }),
    protocol: Number(entry.protocol ?? 0),
    plain: Object.keys(entry).every(key => ruleKeys.has(key)),
  }))
}

/**
 * What selects packets other than by their addresses, and what a rule does other than a lookup. The kernel lists no source then:
 * the text of the rule would be that of the other family's rule too.
 */
function restOf(entry: RawRule, family: Family): Partial<ObservedRule> {
  const { iif, fwmark, fwmask = '0xffffffff', goto, src } = entry
  const rest = {
    ...(iif === undefined ? {} : { iif }),
    ...(fwmark === undefined ? {} : { fwmark: `${fwmark}/${fwmask}` }),
    ...('not' in entry ? { not: true as const } : {}),
    ...(goto === undefined ? {} : { goto }),
    ...('nop' in entry ? { nop: true as const } : {}),
  }
  const isForAll = (src === undefined || src === 'all') && entry.dst === undefined
  return isForAll && Object.keys(rest).length > 0 ? { ...rest, from: everySource[family] } : rest
}

function selector<K extends string>(
  key: K,
  address: string | undefined,
  prefix: number | undefined,
  family: Family,
): { [P in K]?: string } {
  if (address === undefined || address === 'all') return {}
  return { [key]: `${address}/${prefix ?? bitsOf(family)}` } as { [P in K]?: string }
}
