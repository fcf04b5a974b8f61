/**
 * What `why` says: how it is, what that means, what to do, and how far it came. Pure.
 */
import { stages } from '../../contract/inventory.ts'
import type { OperatorVerdict } from '../../contract/operator-api.ts'
import type { NicWhy, NodeWhy, Why } from '../why.ts'
import { type Paint, shapeOf, toneOf } from './paint.ts'
import { reasonLines } from './reason.ts'

export function whyLines({ nodes, verdicts }: Why, paint: Paint): string[] {
  const blocks = [...nodes.map(node => nodeLines(node, paint)), ...verdicts.map(one => verdictLines(one, paint))]
  return blocks.flatMap((block, at) => (at === 0 ? block : ['', ...block]))
}

function nodeLines(node: NodeWhy, paint: Paint): string[] {
  const { nodeName, instanceId, providerId, state, interfaces } = node
  return [
    `${paint('strong', `node ${nodeName}`)}  ${paint(toneOf(state), state)}`,
    `  ${paint('dim', `VM ${instanceId}, provider ${providerId}`)}`,
    ...indented(reasonLines(node, paint)),
    ...interfaces.flatMap(nic => ['', ...indented(nicLines(nic, paint))]),
  ]
}

function nicLines(nic: NicWhy, paint: Paint): string[] {
  const { name, status, addresses, portId } = nic
  const head = [
    paint(toneOf(status), `${shapeOf(status)} ${name}`),
    paint(toneOf(status), status),
    addresses.join(' '),
    portId && `port ${portId}`,
  ]
  return [head.filter(Boolean).join('  '), ...indented(reasonLines(nic, paint)), ...indented(stageLine(nic, paint))]
}

/** `seen 10:00:00 → delivered 10:00:01 → waits for cr`, with the day in front. */
function stageLine({ stages: passed, waitsFor }: NicWhy, paint: Paint): string[] {
  const known = stages.flatMap(stage => {
    const time = passed[stage]
    return time === undefined ? [] : [{ stage, time }]
  })
  const [first] = known
  if (!first) return []
  const steps = known.map(({ stage, time }) => `${stage} ${time.slice(11, 19)}`)
  const waits = waitsFor ? [paint('busy', `waits for ${waitsFor}`)] : []
  return [`${paint('dim', first.time.slice(0, 10))} ${[...steps, ...waits].join(' → ')}`]
}

export function verdictLines(verdict: OperatorVerdict, paint: Paint): string[] {
  const { portId, vm, config, name, reason } = verdict
  const head = portId === undefined ? `VM ${vm}` : `port ${portId}`
  const became = name ? `  ${name}` : ''
  const tone = reason === 'Taken' ? 'good' : 'busy'
  return [
    `${paint('strong', head)}${became}  ${paint(tone, reason === 'Taken' ? 'taken' : 'not taken')}`,
    `  ${paint('dim', `${portId === undefined ? '' : `VM ${vm}, `}OpenstackConfig ${config}`)}`,
    ...indented(reasonLines(verdict, paint)),
  ]
}

function indented(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}
