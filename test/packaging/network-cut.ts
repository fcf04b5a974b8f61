/**
 * Drops all packets between two groups of addresses, in the network of every node and here, as a broken link would: without an
 * answer to the sender.
 */
import { type RunResult, run } from '../rigs/process.ts'

/** An address, or an address with ports of TCP. */
export interface Peer {
  address: string
  ports?: readonly number[]
}

const table = 'multinic_cut'

/** Runs the work while the groups cannot reach each other. */
export async function whileCut(
  /** Names of the network namespaces of the nodes. */
  nodes: readonly string[],
  [from, to]: readonly [readonly Peer[], readonly Peer[]],
  work: () => Promise<unknown>,
): Promise<void> {
  const rules = from.flatMap(one => to.flatMap(other => drops(one, other)))
  const chain = (hook: string) =>
    `chain ${hook} {\ntype filter hook ${hook} priority filter; policy accept;\n${rules.join('\n')}\n}`
  const input = `table ip ${table} {\n${['input', 'forward', 'output'].map(chain).join('\n')}\n}\n`
  const everywhere = async (nft: (enter: readonly string[]) => Promise<RunResult>) => {
    for (const netns of nodes) await nft(['ip', 'netns', 'exec', netns])
    await nft(['env'])
  }
  await everywhere(([command = '', ...enter]) => run(command, [...enter, 'nft', '-f', '-'], { input }))
  try {
    await work()
  } finally {
    await everywhere(([command = '', ...enter]) => run(command, [...enter, 'nft', 'delete', 'table', 'ip', table]))
  }
}

function drops(one: Peer, other: Peer): string[] {
  const way = (from: Peer, to: Peer) =>
    [
      `ip saddr ${from.address} ip daddr ${to.address}`,
      ...(from.ports ? [`tcp sport { ${from.ports.join()} }`] : []),
      ...(to.ports ? [`tcp dport { ${to.ports.join()} }`] : []),
      'drop',
    ].join(' ')
  return [way(one, other), way(other, one)]
}
