/**
 * What the message of an interface says about the way of packets: the agent writes these texts, and the CLI finds them again.
 *
 * Pure. Free of dependencies.
 */
export interface AskedPackets {
  from?: string
  /** As `ip` writes it. */
  mark?: string
  to: string
}

/** Packets do not leave by the expected device. `by`: the way that they take, if they have one. */
export function unexpectedWay(packets: AskedPackets, by: string | undefined, expected: string): string {
  return `${packetsText(packets)} ${by === undefined ? 'have no route' : `leave by ${by}`}, expected by ${expected}`
}

function packetsText({ from, mark, to }: AskedPackets): string {
  if (mark !== undefined) return `replies with mark ${mark} to ${to}`
  return `packets ${from === undefined ? 'without a source' : `from ${from}`} to ${to}`
}

/** The main table does not reach a network by the NIC. */
export function onlyBound(network: string, because: string): string {
  return `${network} is reached only from the NIC's address, because it ${because}`
}

export function withoutMarks(error: string): string {
  return `Pods do not answer NodePorts by this NIC, because the node cannot load nftables rules: ${error}`
}

export function pastMarks(program: string): string {
  return `${program} answers NodePorts by eBPF, past the rules of this NIC: see its settings for more devices`
}

/** A rule or filter of the node drops the packets. */
export function notSent({ from, to }: Required<Omit<AskedPackets, 'mark'>>, error: string): string {
  return `the node does not send packets from ${from} to ${to}: ${error}`
}

/** The packets of a message that take an unexpected way, or none. */
export function waysIn(message: string): { text: string; to: string }[] {
  const ways =
    /(?:(?:packets (?:without a source|from [0-9a-f.:]+)|replies with mark 0x[0-9a-f]+) to ([0-9a-f.:]+) (?:leave by|have no route)|the node does not send packets from [0-9a-f.:]+ to ([0-9a-f.:]*[0-9a-f]):)[^;]*/g
  return [...message.matchAll(ways)].map(([text, to, silent = '']) => ({ text: text.trim(), to: to ?? silent }))
}

/** The networks of a message that packets reach only from the NIC's address. */
export function onlyBoundIn(message: string): { text: string; network: string }[] {
  const texts = /([0-9a-f.:]+\/\d+) is reached only from the NIC's address[^;]*/g
  return [...message.matchAll(texts)].map(([text, network = '']) => ({ text: text.trim(), network }))
}

/** Why replies have no mark. */
export function withoutMarksIn(message: string): string[] {
  const texts = /Pods do not answer NodePorts by this NIC, [^;]*|\S+ answers NodePorts by eBPF, [^;]*/g
  return [...message.matchAll(texts)].map(([text]) => text.trim())
}
