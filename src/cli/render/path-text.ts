/**
 * Text of `why --to`: a line for each kind of packets, what the agent reported, and the commands for the node. Pure.
 */
import { defaultMarkMask, defaultTableBase, hex } from '../../contract/routing-scheme.ts'
import type { CheckedNic } from '../checked.ts'
import type { Messages } from '../messages/en.ts'
import { en } from '../messages/en.ts'
import type { RenderOptions } from '../output.ts'
import type { Device, PacketPath } from '../packet-path.ts'
import type { PathAnswer } from '../path-answer.ts'
import { nameText } from './names.ts'
import { symbolOf, toneOf } from './paint.ts'
import { reasonLines } from './reason.ts'
import { table } from './table.ts'

export function pathLines(answer: PathAnswer, options: RenderOptions): string[] {
  const { paint, columns, texts } = options
  const { nodeName, instanceId, instanceName, providerId, providerName, status, obstacles, commands } = answer
  const { path } = texts
  const provider = nameText(providerName, providerId, options)
  const head = path.columns
  const rows = answer.paths.map(one => [
    packetsText(one, answer, texts),
    deviceText(one, texts),
    String(one.table),
    String(one.priority),
    overridesText(one, texts).join('; '),
  ])
  // The obstacles are the message, without what is not about packets.
  const reason = reasonLines({ ...answer, message: obstacles.length > 0 ? undefined : answer.message }, options)
  return [
    `${paint('strong', `${nodeName} ${answer.interface} → ${answer.to}`)}  ${paint(toneOf(status), `${symbolOf(status)} ${status}`)}`,
    `  ${paint('dim', `VM ${nameText(instanceName, instanceId, options)}, ${texts.provider} ${provider}`)}`,
    ...(status === 'Configured' ? [] : [...reason, path.notReported].map(line => `  ${line}`)),
    ...section(obstacles.length > 0 ? paint('bad', path.obstacles) : '', obstacles),
    '',
    ...table([head.packets, head.leave, head.table, head.rule, head.overridden], rows, paint, { columns }),
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

/** One row per kind of packets, in English. */
export function pathRows(answers: readonly PathAnswer[]): (string | undefined)[][] {
  const rows = answers.flatMap(answer =>
    answer.paths.map(one => [
      ...[answer.providerId, answer.nodeName, answer.instanceId, answer.interface, answer.status, answer.to],
      ...[one.packets, one.from, one.mark, one.device ?? one.by, one.gateway],
      ...[String(one.table), String(one.priority), overridesText(one, en).join('; '), answer.obstacles.join('; ')],
    ]),
  )
  return [[...columnNames], ...rows]
}

const columnNames = [
  ...['providerId', 'nodeName', 'instanceId', 'interface', 'status', 'to'],
  ...['packets', 'from', 'mark', 'device', 'gateway', 'table', 'priority', 'overriddenBy', 'obstacles'],
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
