/**
 * What `why` says: how it is, what that means, what to do, and how far it came. Pure.
 */
import { stages } from '../../contract/inventory.ts'
import type { OperatorVerdict } from '../../contract/operator-api.ts'
import type { NicWhy, NodeWhy, Why } from '../why.ts'
import { type Paint, shapeOf, toneOf } from './paint.ts'
import { reasonLines } from './reason.ts'

/** Wide: also MACs, MTUs, links and whole times. */
interface Look {
  paint: Paint
  wide: boolean
}

export function whyLines({ nodes, verdicts }: Why, look: Look): string[] {
  const blocks = [...nodes.map(node => nodeLines(node, look)), ...verdicts.map(one => verdictLines(one, look.paint))]
  return blocks.flatMap((block, at) => (at === 0 ? block : ['', ...block]))
}

function nodeLines(node: NodeWhy, look: Look): string[] {
  const { paint } = look
  const { nodeName, instanceId, providerId, state, interfaces } = node
  return [
    `${paint('strong', `node ${nodeName}`)}  ${paint(toneOf(state), state)}`,
    `  ${paint('dim', `VM ${instanceId}, provider ${providerId}`)}`,
    ...indented(reasonLines(node, paint)),
    ...interfaces.flatMap(nic => ['', ...indented(nicLines(nic, look))]),
  ]
}

function nicLines(nic: NicWhy, look: Look): string[] {
  const { name, status, addresses, portId, macAddress, mtu, link } = nic
  const { paint, wide } = look
  const head = [
    paint(toneOf(status), `${shapeOf(status)} ${name}`),
    paint(toneOf(status), status),
    addresses.join(' '),
    portId && `port ${portId}`,
    ...(wide ? [macAddress, mtu && `mtu ${mtu}`, link && `link ${link}`] : []),
  ]
  return [head.filter(Boolean).join('  '), ...indented(reasonLines(nic, paint)), ...indented(stageLine(nic, look))]
}

/** `seen 10:00:00 → delivered 10:00:01 → waits for cr`, with the day in front; wide, with whole times. */
function stageLine({ stages: passed, waitsFor }: NicWhy, { paint, wide }: Look): string[] {
  const known = stages.flatMap(stage => {
    const time = passed[stage]
    return time === undefined ? [] : [{ stage, time }]
  })
  const [first] = known
  if (!first) return []
  const steps = known.map(({ stage, time }) => `${stage} ${wide ? time : time.slice(11, 19)}`)
  const waits = waitsFor ? [paint('busy', `waits for ${waitsFor}`)] : []
  const line = [...steps, ...waits].join(' → ')
  return [wide ? line : `${paint('dim', first.time.slice(0, 10))} ${line}`]
}

export function verdictLines(verdict: OperatorVerdict, paint: Paint): string[] {
  const { portId, vm, config, name, reason } = verdict
  const head = portId === undefined ? `VM ${vm}` : `port ${portId}`
  const became = name ? `  ${name}` : ''
  const tone = reason === 'Selected' ? 'good' : 'busy'
  return [
    `${paint('strong', head)}${became}  ${paint(tone, reason === 'Selected' ? 'taken' : 'not taken')}`,
    `  ${paint('dim', `${portId === undefined ? '' : `VM ${vm}, `}OpenstackConfig ${config}`)}`,
    ...indented(reasonLines(verdict, paint)),
  ]
}

function indented(lines: readonly string[]): string[] {
  return lines.map(line => `  ${line}`)
}
