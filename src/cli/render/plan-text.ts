/**
 * What `plan` says: what would be sent and removed, and why; what would not be taken. Pure.
 */
import { addressesOf } from '../../contract/interfaces.ts'
import type { PlanAnswer } from '../../contract/operator-api.ts'
import type { Paint, Tone } from './paint.ts'
import { reasonLines } from './reason.ts'
import { aligned } from './table.ts'
import { verdictLines } from './why-text.ts'

type Node = PlanAnswer['nodes'][number]

const signs: Record<Node['action'], { sign: string; tone: Tone; words: string }> = {
  send: { sign: '~', tone: 'good', words: 'would be sent' },
  remove: { sign: '-', tone: 'bad', words: 'would be taken away' },
  keep: { sign: '=', tone: 'dim', words: 'stays as it is' },
}

export function planLines(name: string, plan: PlanAnswer, paint: Paint): string[] {
  const { nodes, verdicts, heldRemovals, error } = plan
  const refused = verdicts.filter(({ reason }) => reason !== 'Selected')
  const blocks = [
    ...nodes.map(node => nodeLines(node, paint)),
    ...refused.map(verdict => verdictLines(verdict, paint)),
    ...(heldRemovals.length > 0
      ? [[paint('busy', 'removals that would wait for a person'), ...heldRemovals.map(held => `  ${held}`)]]
      : []),
    ...(error ? [[paint('bad', 'error'), ...reasonLines(error, paint).map(line => `  ${line}`)]] : []),
  ]
  return [headline(name, plan, paint), ...blocks.flatMap(block => ['', ...block])]
}

function headline(name: string, { nodes, error }: PlanAnswer, paint: Paint): string {
  const count = (action: Node['action']) => nodes.filter(node => node.action === action).length
  const said = [
    [count('send'), 'to send'],
    [count('remove'), 'to take away'],
    [count('keep'), 'unchanged'],
  ].flatMap(([number, words]) => (number === 0 ? [] : [`${number} ${words}`]))
  const result = said.length > 0 ? said.join(', ') : error ? 'cannot be planned' : 'nothing to do'
  return `${paint('strong', `OpenstackConfig ${name}`)}  ${result}; nothing was changed`
}

function nodeLines({ nodeName, instanceId, action, interfaces, why }: Node, paint: Paint): string[] {
  const { sign, tone, words } = signs[action]
  const nics = aligned(
    interfaces.map(nic => [
      nic.name,
      addressesOf(nic).join(' '),
      nic.mtu === undefined ? '' : `mtu ${nic.mtu}`,
      nic.macAddress,
      nic.portId && `port ${nic.portId}`,
    ]),
    paint,
  )
  return [
    `${paint(tone, `${sign} ${nodeName}  ${words}`)}  ${paint('dim', `VM ${instanceId}`)}`,
    ...why.map(line => `    ${line}`),
    ...(action === 'keep' ? [] : nics.map(line => `    ${line}`)),
  ]
}
