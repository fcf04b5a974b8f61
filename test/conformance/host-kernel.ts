/**
 * Conformance of the kernel below the agent: rules, routes, lookups and nftables, by the commands of the agent and read back as
 * the agent reads them. The same cases run on network namespaces of this kernel and on the simulated kernel.
 */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Host } from '../../src/agent/host/host.ts'
import { readIp, readIpLists } from '../../src/agent/host/ip-read.ts'
import { parseRules } from '../../src/agent/observe/observed-rules.ts'
import { ruleText } from '../../src/agent/state/change.ts'
import { canonicalTable, nftErrorIn, nftScript, nftTable } from '../../src/agent/state/nftables.ts'
import { ifindexes, type Link, parseLinks, parseRoutes } from '../../src/agent/state/observed.ts'
import type { Family } from '../../src/contract/address.ts'

export interface KernelImplementation {
  /** A new namespace. */
  create(): Promise<Host>
  remove(): Promise<void>
}

/** Two NICs with carrier, and a table of the second one. */
const twoNics = [
  ...['a', 'b'].flatMap(nic => [
    `link add nic-${nic} type veth peer name wire-${nic}`,
    `link set nic-${nic} up`,
    `link set wire-${nic} up`,
  ]),
  'address add 10.0.0.10/24 dev nic-a',
  'address add 10.1.0.10/24 dev nic-b noprefixroute',
  'address add fd00:1::10/64 dev nic-b noprefixroute nodad',
  'route add default via 10.0.0.1 dev nic-a',
  'route add 10.1.0.0/24 dev nic-b table 100 protocol 4',
  'route add 0.0.0.0/0 via 10.1.0.1 dev nic-b table 100 onlink protocol 4',
  'route add 10.1.0.0/24 dev nic-b metric 20000 protocol 4',
]

export function kernelConformance(implementation: () => KernelImplementation): void {
  suite('the kernel of a node', () => {
    let used: KernelImplementation
    let host: Host

    before(async () => {
      used = implementation()
      host = await used.create()
      await ip(twoNics)
    })
    after(() => used.remove())

    async function ip(lines: readonly string[], family: readonly string[] = []): Promise<void> {
      const { code, stderr } = await host.ip([...family, '-batch', '-'], lines)
      assert.equal(code, 0, stderr)
    }
    async function links(): Promise<Link[]> {
      const [raw = []] = await readIpLists(host, ['address show'])
      return parseLinks(raw).links
    }
    /** Without those that every namespace has. */
    async function rules(family: Family): Promise<string[]> {
      const [raw = []] = await readIpLists(host, ['rule list'], family === 6 ? ['-6'] : [])
      return parseRules(raw, family)
        .filter(({ priority }) => priority > 0 && priority < 32_766)
        .map(rule => `${rule.plain ? '' : 'special: '}${ruleText(rule)} protocol ${rule.protocol}`)
    }
    /** `fd00::/64 via fd00::1 dev nic-b table 100 metric 20000 protocol 4` */
    async function routes(pattern: RegExp): Promise<string[]> {
      const devices = await links()
      const [raw = []] = await readIpLists(host, ['route show table all'])
      return parseRoutes(raw, ifindexes(devices))
        .filter(route => route.type === 1 && pattern.test(route.destination))
        .map(({ destination, gateway, devices: used, table, metric, onlink, protocol }) => {
          const device = devices.find(({ ifindex }) => ifindex === used[0])?.name
          const way = `${gateway === undefined ? '' : ` via ${gateway}`} dev ${device} table ${table}`
          return `${destination}${way} metric ${metric}${onlink ? ' onlink' : ''} protocol ${protocol}`
        })
        .sort()
    }
    /** `nic-b table 100`, or the error. */
    async function wayOf(question: string): Promise<string> {
      const devices = await links()
      const [result] = await readIp(host, [`route get ${question}`])
      if (result?.items === undefined) return result?.error ?? 'no answer'
      const [route] = parseRoutes(result.items, ifindexes(devices))
      return `${devices.find(({ ifindex }) => ifindex === route?.devices[0])?.name} table ${route?.table}`
    }
    /** Adds the rules for one case. */
    async function withRules(lines: readonly string[], act: () => Promise<void>, family: Family = 4): Promise<void> {
      const options = [...(family === 6 ? ['-6'] : []), '-force']
      const commands = (verb: string) => lines.map(line => `rule ${verb} ${line} protocol 4`)
      try {
        await ip(commands('add'), options)
        await act()
      } finally {
        await host.ip([...options, '-batch', '-'], commands('del'))
      }
      assert.deepEqual(await rules(family), [])
    }

    const marked = 'from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000'
    const other = 'from 0.0.0.0/0 fwmark 0x58/0x78 lookup 110 priority 10010'
    const own = 'from 10.1.0.0/24 iif lo lookup 100 priority 10070'
    const main = 'from 10.1.0.0/24 iif lo lookup 254 suppress_prefixlength 7 priority 10060'
    const inside = 'from 10.1.0.10/32 to 10.1.0.0/24 iif lo lookup 254 suppress_prefixlength 24 priority 10020'

    test('rules with a mark, a device and a suppressed length are listed with the text that added them', async () => {
      await withRules([own, main, inside, other, marked], async () => {
        assert.deepEqual(
          await rules(4),
          [marked, other, inside, main, own].map(text => `${text} protocol 4`),
        )
      })
    })

    test('a rule for the mark of a device that is gone has no selector more than the text that added it', async () => {
      const gone = 'from 0.0.0.0/0 iif multinic9 fwmark 0x50/0x78 lookup 254 priority 9999'
      await withRules([gone], async () => {
        assert.deepEqual(await rules(4), [`${gone} protocol 4`])
      })
    })

    test('an IPv6 rule that selects by its mark alone is listed with the text that added it', async () => {
      const texts = [
        'from ::/0 fwmark 0x10/0x78 lookup 101 priority 10001',
        'from fd00:1::/64 iif lo lookup 101 priority 10071',
      ]
      await withRules(
        texts,
        async () => {
          assert.deepEqual(
            await rules(6),
            texts.map(text => `${text} protocol 4`),
          )
          assert.deepEqual(await rules(4), [])
        },
        6,
      )
    })

    test('rules that differ in the mark, its mask or the device alone are different', async () => {
      const similar = [
        'from 10.1.0.0/24 lookup 100 priority 10070',
        'from 0.0.0.0/0 fwmark 0x8/0xf8 lookup 100 priority 10000',
        'from 0.0.0.0/0 fwmark 0x10/0x78 lookup 100 priority 10000',
      ]
      await withRules([own, marked, ...similar], async () => {
        assert.equal((await rules(4)).length, 5)
        const again = await host.ip(['-batch', '-'], [`rule add ${marked} protocol 4`])
        assert.match(again.stderr, /File exists/)
        const missing = await host.ip(['-batch', '-'], [`rule del ${other} protocol 4`])
        assert.match(missing.stderr, /No such file or directory/)
        assert.equal((await rules(4)).length, 5)
      })
    })

    const skip = [
      'from 0.0.0.0/0 nop priority 10095',
      'from 10.0.0.0/24 iif lo goto 10095 priority 10014',
      'not from 0.0.0.0/0 iif lo goto 10095 priority 10012',
      'from 0.0.0.0/0 fwmark 0/0x78 goto 10012 priority 9998',
    ]

    test('rules that skip others are listed with the text that added them, and skip them', async () => {
      const trap = 'from 0.0.0.0/0 fwmark 0x8/0x78 lookup 100 priority 10000'
      const all = 'from 10.0.0.0/8 lookup 100 priority 10050'
      await withRules([...skip, trap, all], async () => {
        assert.deepEqual(
          await rules(4),
          [skip[3], trap, skip[2], skip[1], all, skip[0]].map(text => `${text} protocol 4`),
        )
        assert.equal(await wayOf('192.0.2.1 mark 0x8'), 'nic-b table 100')
        assert.equal(await wayOf('192.0.2.1 from 10.1.0.10'), 'nic-b table 100')
        assert.equal(await wayOf('192.0.2.1 from 10.0.0.10'), 'nic-a table 254')
      })
    })

    const ways: Record<string, [question: string, expected: string]> = {
      'a packet without a mark uses the main table': ['192.0.2.1', 'nic-a table 254'],
      'a packet with the mark of a NIC uses its table': ['192.0.2.1 mark 0x8', 'nic-b table 100'],
      'bits outside of the mask do not count': ['192.0.2.1 mark 0x4009', 'nic-b table 100'],
      'a packet with another mark uses the main table': ['192.0.2.1 mark 0x10', 'nic-a table 254'],
      'a packet from the network of a NIC uses its table': ['192.0.2.1 from 10.1.0.10', 'nic-b table 100'],
      'a packet between networks of the node uses the main table': ['10.0.0.7 from 10.1.0.10', 'nic-a table 254'],
      'a packet to the network of a NIC uses the main table': ['10.1.0.7', 'nic-b table 254'],
      'a packet from the node to the network of a NIC uses the main table': [
        '10.1.0.7 from 10.0.0.10',
        'nic-b table 254',
      ],
    }
    for (const [name, [question, expected]] of Object.entries(ways))
      test(`lookup: ${name}`, async () => {
        await withRules([own, main, marked], async () => {
          assert.equal(await wayOf(question), expected)
        })
      })

    /** Replaces a route, and returns what the kernel then has. */
    const replaced: Record<string, [first: string[], replacement: string, expected: string[], destination: RegExp]> = {
      'a route that is not there': [
        [],
        '10.5.0.0/24 dev nic-b table 254 metric 20000 protocol 4',
        ['10.5.0.0/24 dev nic-b table 254 metric 20000 protocol 4'],
        /^10\.5/,
      ],
      'a route with another gateway': [
        ['10.5.0.0/24 via 10.0.0.7 dev nic-a table 254 metric 20000 protocol 4'],
        '10.5.0.0/24 via 10.0.0.8 dev nic-a table 254 metric 20000 protocol 4',
        ['10.5.0.0/24 via 10.0.0.8 dev nic-a table 254 metric 20000 protocol 4'],
        /^10\.5/,
      ],
      'a route on another device': [
        ['10.5.0.0/24 via 10.0.0.7 dev nic-a table 110 protocol 4'],
        '10.5.0.0/24 via 10.1.0.1 dev nic-b table 110 onlink protocol 4',
        ['10.5.0.0/24 via 10.1.0.1 dev nic-b table 110 metric 0 onlink protocol 4'],
        /^10\.5/,
      ],
      'no route with another metric': [
        ['10.5.0.0/24 via 10.0.0.7 dev nic-a table 254 metric 5 protocol 4'],
        '10.5.0.0/24 via 10.0.0.8 dev nic-a table 254 metric 20000 protocol 4',
        [
          '10.5.0.0/24 via 10.0.0.7 dev nic-a table 254 metric 5 protocol 4',
          '10.5.0.0/24 via 10.0.0.8 dev nic-a table 254 metric 20000 protocol 4',
        ],
        /^10\.5/,
      ],
      'an IPv6 route with another gateway': [
        ['fd00:5::/64 via fd00:1::1 dev nic-b table 110 metric 1024 onlink protocol 4'],
        'fd00:5::/64 via fd00:1::2 dev nic-b table 110 metric 1024 onlink protocol 4',
        ['fd00:5::/64 via fd00:1::2 dev nic-b table 110 metric 1024 onlink protocol 4'],
        /^fd00:5/,
      ],
    }
    for (const [what, [first, replacement, expected, destination]] of Object.entries(replaced))
      test(`route replace replaces ${what}`, async () => {
        await ip(first.map(route => `route add ${route}`))
        await ip([`route replace ${replacement}`])
        const found = await routes(destination)
        for (const route of found) await ip([`route del ${route}`])
        assert.deepEqual(found, expected)
        assert.deepEqual(await routes(destination), [])
      })

    const nic = {
      ...{ name: 'multinic0', slot: 0 },
      sources: [{ family: 4 as const, cidr: '10.1.0.0/24' }],
      networks: [{ family: 4 as const, cidr: '10.1.0.0/24' }],
    }
    const second = {
      ...{ name: 'multinic3', slot: 3 },
      sources: [
        { family: 4 as const, cidr: '10.9.0.10/32' },
        { family: 6 as const, cidr: 'fd00:9::/64' },
      ],
      networks: [{ family: 6 as const, cidr: 'fd00:9::/64' }],
    }
    const node = { mask: 0x78, wires: ['ens3'], otherWay: true }
    const table = (family: Family, ...nics: (typeof nic | typeof second)[]) => nftTable(family, nics, node)
    async function load(script: string): Promise<void> {
      const { code, stderr } = await host.nft(script)
      assert.equal(code, 0, stderr)
    }
    async function listed(what: string): Promise<string> {
      return canonicalTable((await host.nft(`list ${what}\n`)).stdout)
    }

    test('without tables, nothing is listed, and a table that is missing is an error', async () => {
      assert.equal(await listed('tables'), '')
      const missing = await host.nft('list table ip multinic\n')
      assert.notEqual(missing.code, 0)
      assert.deepEqual([missing.stdout, nftErrorIn(missing.stderr)], ['', 'No such file or directory'])
    })

    test('tables of both families are loaded, listed with the text that loaded them, replaced and removed', async () => {
      await load(nftScript(4, table(4, nic)) + nftScript(6, table(6, nic, second)))
      assert.equal(await listed('tables'), 'table ip multinic\ntable ip6 multinic\n')
      assert.equal(await listed('table ip multinic'), table(4, nic))
      assert.equal(await listed('table ip6 multinic'), table(6, nic, second))
      await load(nftScript(4, table(4, second, nic)))
      assert.equal(await listed('table ip multinic'), table(4, second, nic))
      assert.equal(await listed('table ip6 multinic'), table(6, nic, second))
      await load(nftScript(4, undefined))
      assert.equal(await listed('tables'), 'table ip6 multinic\n')
      await load(`# a comment\n${nftScript(4, undefined)}${nftScript(6, undefined)}`)
      assert.equal(await listed('tables'), '')
    })

    test('a script with an error changes nothing', async () => {
      await load(nftScript(4, table(4, nic)))
      const failed = await host.nft(`${nftScript(4, table(4, second))}delete table ip6 multinic\n`)
      assert.notEqual(failed.code, 0)
      assert.match(nftErrorIn(failed.stderr), /No such file or directory/)
      assert.equal(await listed('table ip multinic'), table(4, nic))
      await load(nftScript(4, undefined))
    })
  })
}
