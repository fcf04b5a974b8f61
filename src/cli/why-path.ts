/**
 * `why NODE INTERFACE --to ADDRESS`: which rule, table and device packets to an address use, and what stands in their way.
 */
import { formatIp, type Ip, parseCidr, parseIp } from '../contract/address.ts'
import { interfaceIndex } from '../contract/interfaces.ts'
import { isLoopback, whyNotRoutable } from '../contract/special-addresses.ts'
import type { Api } from './api.ts'
import { CliError, type Ending, type Io } from './io.ts'
import { messagesIn } from './messages/messages.ts'
import { type Format, print } from './output.ts'
import { pathAnswer } from './path-answer.ts'
import { list } from './render/list.ts'
import { pathColumns, pathLines, pathRows } from './render/path-text.ts'

interface PathFlags {
  output?: Format
  provider?: string
  to?: string
}

export async function whyPath(
  io: Io,
  api: Api,
  { output, provider, to: text }: PathFlags,
  what: string,
  name: string | undefined,
): Promise<Ending> {
  const { index, to } = asked(what, name, text)
  const found = await api.records({ q: what, providerId: provider })
  const records = found.filter(one => [one.nodeName, one.instanceId, one.instanceName].includes(what))
  const answers = records.flatMap(record => pathAnswer(record, index, to, io.now()) ?? [])
  const [first] = records
  if (answers.length === 0) {
    const texts = messagesIn(io.language)
    const names = first?.config.interfaces.map(nic => nic.name ?? '') ?? []
    io.note(first ? texts.noInterface(first.nodeName, `multinic${index}`, names) : texts.noNode(what))
    return 'no'
  }
  await print(io, output, {
    data: { nodes: answers },
    ...list(pathRows(answers), pathColumns),
    lines: options => answers.flatMap((one, at) => [...(at > 0 ? [''] : []), ...pathLines(one, options)]),
  })
  return 'yes'
}

function asked(what: string, name: string | undefined, text: string | undefined): { index: number; to: Ip } {
  if (name === undefined)
    throw new CliError(`--to needs an interface: multinic why ${what} multinic0 --to ${text ?? 'ADDRESS'}`)
  const index = interfaceIndex(name)
  if (index === undefined) throw new CliError(`interface: "${name}" is not one of multinic0 to multinic9`)
  if (text === undefined)
    throw new CliError(`interface: "${name}" needs an address: multinic why ${what} ${name} --to ADDRESS`)
  const to = parseIp(text)
  if (!to) throw new CliError(`--to: "${text}" is not an IPv4 or IPv6 address`)
  const cidr = parseCidr(`${formatIp(to)}/${to.family === 4 ? 32 : 128}`)
  const special = isLoopback(text) ? 'is for loopback' : cidr && whyNotRoutable(cidr)
  if (special !== undefined)
    throw new CliError(`--to: ${formatIp(to)} ${special}; no rule of MultiNIC selects its path`)
  return { index, to }
}
