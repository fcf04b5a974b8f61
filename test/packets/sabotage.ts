/** Takes pieces of the agent's work away from the node, as an operator or another program could, and puts them back. */
import { type Family, families } from './addresses.ts'
import type { World } from './world.ts'

/** Undoes the change. */
export type Restore = () => void
export type Change = (world: World) => Restore

const lines = (text: string) => text.split('\n').flatMap(line => line.trim() || [])

function batch(world: World, family: Family, commands: readonly string[]): void {
  if (commands.length > 0)
    world.feedNode(commands.map(line => `${line}\n`).join(''), 'ip', '-N', `-${family}`, '-batch', '-')
}

/** All rules with a priority from `first` to `last`. */
export function withoutRules(first: number, last = first): Change {
  return world => {
    const removed = families.map(family => {
      const rules = lines(world.onNode('ip', '-N', `-${family}`, 'rule', 'list')).flatMap(line => {
        const [, priority, text] = /^(\d+):\s+(.*)$/.exec(line) ?? []
        return Number(priority) >= first && Number(priority) <= last ? [`priority ${priority} ${text}`] : []
      })
      return { family, rules }
    })
    if (removed.every(({ rules }) => rules.length === 0)) throw new Error(`no rules from ${first} to ${last}`)
    for (const { family, rules } of removed)
      batch(
        world,
        family,
        rules.map(rule => `rule del ${rule}`),
      )
    return () => {
      for (const { family, rules } of removed)
        batch(
          world,
          family,
          rules.map(rule => `rule add ${rule}`),
        )
    }
  }
}

/** The routes of a table; in the main table those of our NICs. */
export function withoutRoutes(table: number): Change {
  return world => {
    const removed = families.map(family => {
      const all = lines(world.onNode('ip', '-N', `-${family}`, 'route', 'show', 'table', `${table}`))
      const routes = all.filter(line => table !== 254 || (/ dev multinic/.test(line) && !line.startsWith('fe80:')))
      return { family, routes: routes.map(line => `${line.replace(/ pref \S+| linkdown/g, '')} table ${table}`) }
    })
    if (removed.every(({ routes }) => routes.length === 0)) throw new Error(`no routes in table ${table}`)
    for (const { family, routes } of removed)
      batch(
        world,
        family,
        routes.map(route => `route del ${route}`),
      )
    return () => {
      for (const { family, routes } of removed)
        batch(
          world,
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
  return world => {
    const tables = families.map(family => (family === 4 ? 'ip multinic' : 'ip6 multinic'))
    const listed = tables.map(table => world.onNode('nft', 'list', 'table', ...table.split(' ')))
    for (const table of tables) {
      if (hook === undefined) {
        world.onNode('nft', 'delete', 'table', ...table.split(' '))
        continue
      }
      const json = world.onNode('nft', '--json', 'list', 'table', ...table.split(' '))
      const { nftables } = JSON.parse(json) as { nftables: ListedChain[] }
      const chains = nftables.flatMap(({ chain }) => (chain?.hook === hook ? [chain.name] : []))
      if (chains.length === 0) throw new Error(`${table} has no chain at ${hook}`)
      for (const chain of chains) world.onNode('nft', 'flush', 'chain', ...table.split(' '), chain)
    }
    return () => {
      const existing = hook === undefined ? [] : tables.map(table => `delete table ${table}\n`)
      world.feedNode([...existing, ...listed].join(''), 'nft', '-f', '-')
    }
  }
}

/** A line for `ip` in each family, and the line that takes it back. */
export function withLines(of: (family: Family) => { add: string; remove: string }): Change {
  return world => {
    for (const family of families) batch(world, family, [of(family).add])
    return () => {
      for (const family of families) batch(world, family, [of(family).remove])
    }
  }
}

/** IPv4 only: IPv6 has no reverse path filter. */
export function withStrictFilter(device: string): Change {
  return world => {
    const key = `net.ipv4.conf.${device}.rp_filter`
    const before = world.onNode('sysctl', '-n', key).trim()
    world.onNode('sysctl', '-qw', `${key}=1`)
    return () => void world.onNode('sysctl', '-qw', `${key}=${before}`)
  }
}

/** One after the other. */
export function together(...changes: readonly Change[]): Change {
  return world => {
    const restores = changes.map(change => change(world))
    return () => {
      for (const restore of restores.toReversed()) restore()
    }
  }
}
