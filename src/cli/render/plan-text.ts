/**
 * Text of `plan`: what would be sent and removed, and why; which ports would be ignored. Pure.
 */

import { addressesOf } from '../../contract/interfaces.ts'
import { type PlanAnswer, type StoredPlans, verdictKind } from '../../contract/operator-api.ts'
import type { RenderOptions } from '../output.ts'
import { nameText, subnetText } from './names.ts'
import type { Tone } from './paint.ts'
import { ago, reasonLines } from './reason.ts'
import { aligned } from './table.ts'
import { verdictLines } from './why-text.ts'

type Node = PlanAnswer['nodes'][number]

const signs: Record<Node['action'], { sign: string; tone: Tone }> = {
  send: { sign: '~', tone: 'good' },
  remove: { sign: '-', tone: 'bad' },
  keep: { sign: '=', tone: 'dim' },
}

export function planLines(name: string, plan: PlanAnswer, options: RenderOptions): string[] {
  const { nodes, error } = plan
  const { plan: texts } = options.texts
  const result = countsText(nodes, 0, options) || (error ? texts.impossible : texts.nothing)
  return [headline(name, `${result}; ${texts.dryRun}`, options), ...blockLines(plan, options)]
}

/** The plans of the last syncs, one for each provider. */
export function storedPlanLines(stored: StoredPlans, options: RenderOptions): string[] {
  const { plan: texts } = options.texts
  return stored.flatMap(({ config, providerId, plannedAt, plan }, at) => {
    const result = countsText(plan.nodes, plan.unchanged, options) || texts.nothing
    return [
      ...(at > 0 ? [''] : []),
      headline(`${config} (${providerId})`, `${result}; ${texts.stored(plannedAt, ago(plannedAt, options))}`, options),
      ...blockLines({ ...plan, verdicts: [] }, options),
      ...(plan.omitted > 0 ? ['', texts.omitted(plan.omitted)] : []),
    ]
  })
}

function blockLines(
  { nodes, verdicts, heldRemovals, moves = [], error }: PlanAnswer,
  options: RenderOptions,
): string[] {
  const { paint, texts } = options
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
  return blocks.flatMap(block => ['', ...block])
}

function headline(name: string, result: string, { paint }: RenderOptions): string {
  return `${paint('strong', `OpenstackConfig ${name}`)}  ${result}`
}

/** Empty without nodes. `unchanged`: nodes that are not in the list. */
function countsText(nodes: readonly Node[], unchanged: number, { texts }: RenderOptions): string {
  const count = (action: Node['action']) =>
    nodes.filter(node => node.action === action).length + (action === 'keep' ? unchanged : 0)
  return (['send', 'remove', 'keep'] as const)
    .flatMap(action => (count(action) === 0 ? [] : [`${count(action)} ${texts.plan.counts[action]}`]))
    .join(', ')
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
