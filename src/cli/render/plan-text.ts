/**
 * Text of `plan`: what would be sent and removed, and why; which ports would be ignored. Pure.
 */

import { addressesOf } from '../../contract/interfaces.ts'
import { type PlanAnswer, verdictKind } from '../../contract/operator-api.ts'
import type { RenderOptions } from '../output.ts'
import { nameText, subnetText } from './names.ts'
import type { Tone } from './paint.ts'
import { reasonLines } from './reason.ts'
import { aligned } from './table.ts'
import { verdictLines } from './why-text.ts'

type Node = PlanAnswer['nodes'][number]

const signs: Record<Node['action'], { sign: string; tone: Tone }> = {
  send: { sign: '~', tone: 'good' },
  remove: { sign: '-', tone: 'bad' },
  keep: { sign: '=', tone: 'dim' },
}

export function planLines(name: string, plan: PlanAnswer, options: RenderOptions): string[] {
  const { paint, texts } = options
  const { nodes, verdicts, heldRemovals, moves = [], error } = plan
  const ignored = verdicts.filter(({ reason }) => verdictKind(reason) === 'ignored')
  const blocks = [
    ...nodes.map(node => nodeLines(node, options)),
    ...ignored.map(verdict => verdictLines(verdict, options)),
    ...(heldRemovals.length > 0
      ? [[paint('busy', texts.plan.removalsOnHold), ...heldRemovals.map(removal => `  ${removal}`)]]
      : []),
    ...(moves.length > 0
      ? [
          [
            paint('busy', texts.plan.moves),
            ...aligned(
              moves.map(({ nodeName, portId, from, to }) => [nodeName, `${from} → ${to}`, `${texts.port} ${portId}`]),
              paint,
            ).map(line => `  ${line}`),
          ],
        ]
      : []),
    ...(error ? [[paint('bad', texts.plan.error), ...reasonLines(error, options).map(line => `  ${line}`)]] : []),
  ]
  return [headline(name, plan, options), ...blocks.flatMap(block => ['', ...block])]
}

function headline(name: string, { nodes, error }: PlanAnswer, { paint, texts: { plan } }: RenderOptions): string {
  const count = (action: Node['action']) => nodes.filter(node => node.action === action).length
  const counts = (['send', 'remove', 'keep'] as const).flatMap(action =>
    count(action) === 0 ? [] : [`${count(action)} ${plan.counts[action]}`],
  )
  const result = counts.length > 0 ? counts.join(', ') : error ? plan.impossible : plan.nothing
  return `${paint('strong', `OpenstackConfig ${name}`)}  ${result}; ${plan.dryRun}`
}

function nodeLines(node: Node, options: RenderOptions): string[] {
  const { nodeName, instanceId, instanceName, action, interfaces, why } = node
  const { paint, texts } = options
  const { sign, tone } = signs[action]
  const nics = aligned(
    interfaces.map(nic => [
      nic.name,
      addressesOf(nic).join(' '),
      subnetText(nic, options),
      nic.mtu === undefined ? '' : `mtu ${nic.mtu}`,
      nic.macAddress,
      nic.portId && `${texts.port} ${nic.portId}`,
    ]),
    paint,
  )
  return [
    `${paint(tone, `${sign} ${nodeName}  ${texts.plan[action]}`)}  ${paint('dim', `VM ${nameText(instanceName, instanceId, options)}`)}`,
    ...why.map(line => `    ${line}`),
    ...(action === 'keep' ? [] : nics.map(line => `    ${line}`)),
  ]
}
