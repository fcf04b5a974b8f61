/** Takes pieces of the agent's work away from the node, as an operator or another program could, and puts them back. */
import { type Family, families } from './addresses.ts'
import type { Testbed } from './testbed.ts'

/** Undoes the change. */
export type Restore = () => void
export type Change = (testbed: Testbed) => Restore

const lines = (text: string) => text.split('\n').flatMap(line => line.trim() || [])

function batch(testbed: Testbed, family: Family, commands: readonly string[]): void {
  if (commands.length > 0)
    testbed.feedNode(commands.map(line => `${line}\n`).join(''), 'ip', '-N', `-${family}`, '-batch', '-')
}

/** All rules with a priority from `first` to `last`. */
export function withoutRules(first: number, last = first): Change {
  return testbed => {
    const removed = families.map(family => {
      const rules = lines(testbed.onNode('ip', '-N', `-${family}`, 'rule', 'list')).flatMap(line => {
        const [, priority, text] = /^(\d+):\s+(.*)$/.exec(line) ?? []
        return Number(priority) >= first && Number(priority) <= last ? [`priority ${priority} ${text}`] : []
      })
      return { family, rules }
    })
    if (removed.every(({ rules }) => rules.length === 0)) throw new Error(`no rules from ${first} to ${last}`)
    for (const { family, rules } of removed)
      batch(
        testbed,
        family,
        rules.map(rule => `rule del ${rule}`),
      )
    return () => {
      for (const { family, rules } of removed)
        batch(
          testbed,
          family,
          rules.map(rule => `rule add ${rule}`),
        )
    }
  }
}

/** The routes of a table; in the main table those of our NICs. */
export function withoutRoutes(table: number): Change {
  return testbed => {
    const removed = families.map(family => {
      const all = lines(testbed.onNode('ip', '-N', `-${family}`, 'route', 'show', 'table', `${table}`))
      const routes = all.filter(line => table !== 254 || (/ dev multinic/.test(line) && !line.startsWith('fe80:')))
      return { family, routes: routes.map(line => `${line.replace(/ pref \S+| linkdown/g, '')} table ${table}`) }
    })
    if (removed.every(({ routes }) => routes.length === 0)) throw new Error(`no routes in table ${table}`)
    for (const { family, routes } of removed)
      batch(
        testbed,
        family,
        routes.map(route => `route del ${route}`),
      )
    return () => {
      for (const { family, routes } of removed)
        batch(
          testbed,
          family,
          routes.map(route => `route add ${route}`),
        )
    }
  }
}

interface ListedChain {
  chain?: { name: string; hook?: string }
}

/** Empties the chains at a hook; without one, removes the tables. */
export function withoutChains(hook?: string): Change {
  return testbed => {
    const tables = families.map(family => (family === 4 ? 'ip multinic' : 'ip6 multinic'))
    const listed = tables.map(table => testbed.onNode('nft', 'list', 'table', ...table.split(' ')))
    for (const table of tables) {
      if (hook === undefined) {
        testbed.onNode('nft', 'delete', 'table', ...table.split(' '))
        continue
      }
      const json = testbed.onNode('nft', '--json', 'list', 'table', ...table.split(' '))
      const { nftables } = JSON.parse(json) as { nftables: ListedChain[] }
      const chains = nftables.flatMap(({ chain }) => (chain?.hook === hook ? [chain.name] : []))
      if (chains.length === 0) throw new Error(`${table} has no chain at ${hook}`)
      for (const chain of chains) testbed.onNode('nft', 'flush', 'chain', ...table.split(' '), chain)
    }
    return () => {
      const existing = hook === undefined ? [] : tables.map(table => `delete table ${table}\n`)
      testbed.feedNode([...existing, ...listed].join(''), 'nft', '-f', '-')
    }
  }
}

/** A line for `ip` in each family, and the line that takes it back. */
export function withLines(of: (family: Family) => { add: string; remove: string }): Change {
  return testbed => {
    for (const family of families) batch(testbed, family, [of(family).add])
    return () => {
      for (const family of families) batch(testbed, family, [of(family).remove])
    }
  }
}

/** IPv4 only: IPv6 has no reverse path filter. */
export function withStrictFilter(device: string): Change {
  return testbed => {
    const key = `net.ipv4.conf.${device}.rp_filter`
    const before = testbed.onNode('sysctl', '-n', key).trim()
    testbed.onNode('sysctl', '-qw', `${key}=1`)
    return () => void testbed.onNode('sysctl', '-qw', `${key}=${before}`)
  }
}

/** One after the other. */
export function together(...changes: readonly Change[]): Change {
  return testbed => {
    const restores = changes.map(change => change(testbed))
    return () => {
      for (const restore of restores.toReversed()) restore()
    }
  }
}
