/**
 * The rules that a boot file of ours, or of the Go implementation, sets: Netplan, networkd, NetworkManager's keyfile, an
 * ifcfg file or a rule file of the network scripts. Needed for a NIC whose record does not list its rules.
 *
 * Pure. A rule is the text of `ruleText`; without a priority when the file does not fix it.
 */
import { bitsOf, networkOf, parseCidr } from '../../contract/address.ts'
import { type RuleSpec, ruleText } from './change.ts'
import { everySource } from './observed.ts'

type Keys = {
  [key in 'from' | 'to' | 'iif' | 'fwmark' | 'table' | 'suppress_prefixlength' | 'priority' | 'family']?: string
}

const ruleWords = new Set(['from', 'to', 'iif', 'fwmark', 'table', 'suppress_prefixlength', 'priority'])
/** Keys of systemd-networkd, in lower case, by the word of `ip rule`. */
const networkdKeys: Readonly<Record<string, keyof Keys>> = {
  suppressprefixlength: 'suppress_prefixlength',
  incominginterface: 'iif',
  firewallmark: 'fwmark',
}

export function rulesInFile(text: string): string[] {
  return [...commandRules(text), ...blockRules(text)].flatMap(textsOf)
}

/** Reports whether `rules`, from a record or a file, name this one. */
export function namesRule(rules: ReadonlySet<string>, rule: RuleSpec): boolean {
  const text = ruleText(rule)
  return rules.has(text) || rules.has(withoutPriority(text))
}

/** `routing-rule1=priority 10100 from 10.0.0.1/32 table 100`, the key of an ifcfg file, or the same words without a key. */
function commandRules(text: string): Keys[] {
  return text.split('\n').flatMap(line => {
    const [, key, command = ''] = /^(routing-rules?\d*|ROUTING_RULE6?_\d+)="?([^"]*)"?$/.exec(line.trim()) ?? [
      undefined,
      undefined,
      line.trim(),
    ]
    const words = command.split(' ')
    const keys = Object.fromEntries(
      words.flatMap((word, index) => (index % 2 === 0 ? [[word, words[index + 1] ?? '']] : [])),
    ) as Keys
    if (!Object.keys(keys).every(name => ruleWords.has(name))) return []
    // The Go implementation writes a key that NetworkManager ignores, and adds the rule without a priority.
    const { priority: _, ...unordered } = keys
    return [key === 'routing-rules' ? unordered : keys]
  })
}

/** `[RoutingPolicyRule]` sections, and the entries of `routing-policy:`. */
function blockRules(text: string): Keys[] {
  const rules: Keys[] = []
  let inPolicy = false
  let block: Keys | undefined
  for (const line of text.split('\n').map(line => line.trim())) {
    const [, entry, name = '', value = ''] =
      /^(- )?(from|to|table|suppressprefixlength|priority|incominginterface|firewallmark|family)\s*[:=]\s*["']?([^"']*)["']?$/i.exec(
        line,
      ) ?? []
    if (line === '[RoutingPolicyRule]' || (inPolicy && entry !== undefined)) {
      block = {}
      rules.push(block)
    } else if (name === '') {
      inPolicy = line === 'routing-policy:'
      block = undefined
    }
    if (block && name !== '') block[keyOf(name)] = value
  }
  return rules
}

function keyOf(name: string): keyof Keys {
  const key = name.toLowerCase()
  return networkdKeys[key] ?? (key as keyof Keys)
}

function textsOf(keys: Keys): string[] {
  const { from, to, iif, fwmark, table, suppress_prefixlength: suppressed, priority } = keys
  if (!/^\d+$/.test(table ?? '') || (from === undefined && to === undefined && fwmark === undefined)) return []
  return sourcesIn(keys).map(source => {
    const rule = {
      ...(source === undefined ? {} : { from: source }),
      ...(to === undefined ? {} : { to }),
      ...(iif === undefined ? {} : { iif }),
      ...(fwmark === undefined ? {} : { fwmark }),
      table: Number(table),
      ...(suppressed === undefined ? {} : { suppressPrefixLength: Number(suppressed) }),
      priority: Number(priority ?? 0),
    }
    const text = ruleText({ family: 4, protocol: 0, ...rule })
    return priority === undefined ? withoutPriority(text) : text
  })
}

function sourcesIn({ from, fwmark, priority, family }: Keys): (string | undefined)[] {
  // The file of one family does not say which one it is.
  if (from === undefined && fwmark !== undefined)
    return family === undefined ? Object.values(everySource) : [everySource[family === 'ipv6' ? 6 : 4]]
  // At run time the Go implementation uses the address alone; networkd masks what its file says to the network.
  return from === undefined || priority !== undefined ? [from] : addressForms(from)
}

function addressForms(cidr: string): string[] {
  const parsed = parseCidr(cidr)
  if (!parsed) return [cidr]
  const host = networkOf({ ...parsed, prefix: bitsOf(parsed.family) })
  return [...new Set([cidr, host, networkOf(parsed)])]
}

function withoutPriority(text: string): string {
  return text.replace(/ priority \d+/, '')
}
