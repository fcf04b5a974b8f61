/**
 * Text of `why`: state, meaning, remedy, and the stages that were passed. Pure.
 */

import { stages } from '../../contract/inventory.ts'
import { type OperatorVerdict, type VerdictKind, verdictKind } from '../../contract/operator-api.ts'
import type { RenderOptions } from '../output.ts'
import type { NicWhy, NodeWhy, Why } from '../why.ts'
import { nameText, subnetText } from './names.ts'
import { comparisonLines, observedCell } from './observation.ts'
import { symbolOf, type Tone, toneOf } from './paint.ts'
import { reasonLines } from './reason.ts'
import { aligned } from './table.ts'

export function whyLines({ nodes, verdicts }: Why, options: RenderOptions): string[] {
  const delivered = new Set(nodes.flatMap(({ interfaces }) => interfaces.map(({ portId }) => portId)))
  const { selected, notDelivered } = options.texts
  const blocks = [
    ...nodes.map(node => nodeLines(node, options)),
    ...verdicts.map(one =>
      verdictLines(one, options, one.portId !== undefined && delivered.has(one.portId) ? selected : notDelivered),
    ),
  ]
  return blocks.flatMap((block, at) => (at === 0 ? block : ['', ...block]))
}

function nodeLines(node: NodeWhy, options: RenderOptions): string[] {
  const { paint, texts } = options
  const { nodeName, instanceId, instanceName, providerId, providerName, state, interfaces } = node
  const provider = nameText(providerName, providerId, options)
  return [
    `${paint('strong', `${texts.node} ${nodeName}`)}  ${paint(toneOf(state), state)}`,
    `  ${paint('dim', `VM ${nameText(instanceName, instanceId, options)}, ${texts.provider} ${provider}`)}`,
    ...indented(reasonLines(node, options)),
    ...interfaces.flatMap(nic => ['', ...indented(nicLines(nic, options))]),
  ]
}

function nicLines(nic: NicWhy, options: RenderOptions): string[] {
  const { name, status, addresses, portId, macAddress, mtu, link } = nic
  const { paint, wide, texts } = options
  const head = [
    paint(toneOf(status), `${symbolOf(status)} ${name}`),
    paint(toneOf(status), status),
    addresses.join(' '),
    subnetText(nic, options),
    portId && `${texts.port} ${portId}`,
    ...(wide ? [macAddress, mtu && `mtu ${mtu}`, link && `link ${link}`] : []),
  ]
  return [
    head.filter(Boolean).join('  '),
    ...indented([
      ...reasonLines(nic, options),
      ...comparisonLines(nic, options),
      ...aligned([[observedCell(nic, options)]], paint).filter(Boolean),
      ...stageLine(nic, options),
    ]),
  ]
}

/** `seen 10:00:00 → delivered 10:00:01 → waiting for cr`, with the date in front. Wide: with full times. */
function stageLine({ stages: passed, clamped, waitsFor }: NicWhy, { paint, wide, texts }: RenderOptions): string[] {
  const reached = waitsFor === undefined ? stages : stages.slice(0, stages.indexOf(waitsFor))
  const known = reached.flatMap(stage => {
    const time = passed[stage]
    return time === undefined ? [] : [{ stage, time }]
  })
  const [first] = known
  if (!first) return []
  const steps = known.map(
    ({ stage, time }) =>
      `${clamped?.includes(stage) ? texts.clamped(stage) : stage} ${wide ? time : time.slice(11, 19)}`,
  )
  const waits = waitsFor ? [paint('busy', `${texts.waitsFor} ${waitsFor}`)] : []
  const line = [...steps, ...waits].join(' → ')
  return [wide ? line : `${paint('dim', first.time.slice(0, 10))} ${line}`]
}

const tones: Record<VerdictKind, Tone> = { selected: 'good', ignored: 'busy', notManaged: 'dim' }

export function verdictLines(
  verdict: OperatorVerdict,
  options: RenderOptions,
  selected = options.texts.selected,
): string[] {
  const { paint, texts } = options
  const { portId, config, name, reason } = verdict
  const vm = nameText(verdict.vmName, verdict.vm, options)
  const head = portId === undefined ? `VM ${vm}` : `${texts.port} ${portId}`
  const nicName = name ? `  ${name}` : ''
  const kind = verdictKind(reason)
  return [
    `${paint('strong', head)}${nicName}  ${paint(tones[kind], kind === 'selected' ? selected : texts[kind])}`,
    `  ${paint('dim', `${portId === undefined ? '' : `VM ${vm}, `}OpenstackConfig ${config}`)}`,
    ...indented(reasonLines(verdict, options)),
  ]
}

function indented(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}
