/**
 * Text of `why --to`: a line for each kind of packets, what the agent reported, and the commands for the node. Pure.
 */
import { defaultMarkMask, defaultTableBase, hex } from '../../contract/routing-scheme.ts'
import type { CheckedNic } from '../checked.ts'
import { en, type Messages } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import type { Device, PacketPath } from '../packet-path.ts'
import type { PathAnswer } from '../path-answer.ts'
import { type Column, tableOf } from './list.ts'
import { nameText } from './names.ts'
import { symbolOf, toneOf } from './paint.ts'
import { reasonLines } from './reason.ts'

export function pathLines(answer: PathAnswer, options: RenderOptions): string[] {
  const { paint, texts } = options
  const { nodeName, instanceId, instanceName, providerId, providerName, status, obstacles, commands } = answer
  const { path } = texts
  const provider = nameText(providerName, providerId, options)
  // The obstacles are the message, without what is not about packets.
  const reason = reasonLines({ ...answer, message: obstacles.length > 0 ? undefined : answer.message }, options)
  return [
    `${paint('strong', `${nodeName} ${answer.interface} → ${answer.to}`)}  ${paint(toneOf(status), `${symbolOf(status)} ${status}`)}`,
    `  ${paint('dim', `VM ${nameText(instanceName, instanceId, options)}, ${texts.provider} ${provider}`)}`,
    ...(status === 'Configured' ? [] : [...reason, path.notReported].map(line => `  ${line}`)),
    ...section(obstacles.length > 0 ? paint('bad', path.obstacles) : '', obstacles),
    '',
    ...tableOf(pathRows([answer]), pathColumns, options),
    ...replyNotes(answer, texts),
    '',
    paint('dim', path.settings(defaultTableBase, hex(defaultMarkMask))),
    ...section(path.ask, commands),
  ]
}

function replyNotes({ paths, interface: nic, to }: PathAnswer, { path }: Messages): string[] {
  const reply = paths.find(({ packets }) => packets === 'reply')
  if (!reply) return [path.noAddress(nic, to.includes(':') ? 6 : 4)]
  return reply.by === 'local' || reply.device === nic ? [] : [path.noRoute(nic, to)]
}

/** What the agent reported about packets of each NIC, and the command that explains it. */
export function wayLines(nics: readonly CheckedNic[], { paint, texts }: RenderOptions): string[] {
  return nics.flatMap(({ nodeName, interface: nic, ways = [] }) => {
    const [way] = ways
    if (!way) return []
    return [`${nodeName} ${nic}: ${way.text}`, `  ${paint('strong', '→')} ${texts.path.hint(nodeName, nic, way.to)}`]
  })
}

interface PathRow extends PacketPath {
  answer: PathAnswer
}

/** One row per kind of packets. */
export function pathRows(answers: readonly PathAnswer[]): PathRow[] {
  return answers.flatMap(answer => answer.paths.map(path => ({ ...path, answer })))
}

/** The CSV is in English. */
export const pathColumns: Column<PathRow>[] = [
  ...(['providerId', 'nodeName', 'instanceId', 'interface', 'status', 'to'] as const).map(name => ({
    ...{ name, value: ({ answer }: PathRow) => answer[name] },
  })),
  {
    name: 'packets',
    title: ({ path }) => path.columns.packets,
    cell: (row, { texts }) => packetsText(row, row.answer, texts),
  },
  { name: 'from' },
  { name: 'mark' },
  {
    name: 'device',
    value: ({ device, by }) => device ?? by,
    title: ({ path }) => path.columns.leave,
    cell: (row, { texts }) => deviceText(row, texts),
  },
  { name: 'gateway' },
  { name: 'table', title: ({ path }) => path.columns.table },
  { name: 'priority', title: ({ path }) => path.columns.rule },
  {
    name: 'overriddenBy',
    value: row => overridesText(row, en).join('; '),
    title: ({ path }) => path.columns.overridden,
    cell: (row, { texts }) => overridesText(row, texts).join('; '),
  },
  { name: 'obstacles', value: ({ answer }) => answer.obstacles.join('; ') },
]

function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? [] : [`  ${title}`, ...lines.map(line => `    ${line}`)]
}

function packetsText({ packets, from = '', mark }: PacketPath, answer: PathAnswer, { path }: Messages): string {
  const text = {
    fromAddress: path.fromAddress(from),
    withoutSource: path.withoutSource,
    reply: path.reply(answer.interface),
    fromNode: path.fromNode,
  }[packets]
  return mark === undefined ? text : `${text} (${path.marked(mark)})`
}

function deviceText({ by, device = '', gateway }: Device, { path }: Messages): string {
  if (by === 'primary') return path.primary
  if (by === 'local') return path.local
  return gateway === undefined ? path.onLink(device) : path.gateway(device, gateway)
}

function overridesText({ overriddenBy, withoutRouter }: PacketPath, texts: Messages): string[] {
  const { path } = texts
  if (!overriddenBy) return []
  const { priorityBelow, minPrefix, metricBelow, notByPort } = overriddenBy
  return [
    path.rule(priorityBelow),
    ...(minPrefix === undefined ? [] : [minPrefix === 1 ? path.moreSpecific : path.route(minPrefix, !notByPort)]),
    ...(metricBelow === undefined ? [] : [path.metric(metricBelow)]),
    ...(withoutRouter ? [path.withoutRouter(deviceText(withoutRouter, texts), withoutRouter.table)] : []),
  ]
}
