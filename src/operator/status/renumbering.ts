/**
 * Carries out a person's request to renumber interfaces: one interface of one node at a time, each proven by the agent before
 * the next. Pure.
 *
 * The status names the move before the operator delivers it, so that a restarted operator completes it. A move that fails is
 * rolled back, and the request stops.
 */
import { interfaceHash } from '../../contract/interface-hash.ts'
import type { Interface } from '../../contract/interfaces.ts'
import { parseRenumberRequest, type RenumberRequest, renumberRequestId } from '../../contract/renumber.ts'
import type { MoveInProgress, RenumberStatus } from '../../contract/renumber-status.ts'
import { truncate } from '../../contract/truncate.ts'
import type { Move } from '../plan/moves.ts'
import type { DeliveredNode } from '../plan/observed-state.ts'
import type { Plan } from '../plan/plan.ts'
import { statusOf } from '../record/inventory-record.ts'
import { stateOf } from '../record/sync-outcome.ts'

export interface RenumberInput {
  /** Value of the annotation; undefined if nobody asked, or the request was withdrawn. */
  annotation: string | undefined
  before: RenumberStatus | undefined
  /** Nobody asked this object: the annotation came with the file that it was created from. */
  isNew?: boolean
  /** Reason of the condition Renumbering, which is written with `before`. */
  reasonBefore?: string | undefined
  plan: Pick<Plan, 'nodes' | 'moves'>
  /** The nodes after the delivery. */
  nodes: readonly DeliveredNode[]
  /** Viola reports the state of its nodes. */
  nodesReported: boolean
}

const maxMessage = 1_024

export function nextRenumbering(input: RenumberInput): RenumberStatus | undefined {
  const { annotation, before } = input
  if (before?.current) {
    const result = resultOf(before.current, input)
    if (result.is === 'waiting') return before
    if (result.is === 'failed')
      return { ...before, current: { ...before.current, phase: 'RollingBack', message: limited(result.message) } }
    if (result.is === 'stopped')
      return annotation === undefined
        ? undefined
        : { ...ended(before), state: 'Stopped', message: limited(result.message) }
  }
  if (annotation === undefined) return undefined
  const request = renumberRequestId(annotation)
  if (before?.request === request && before.state !== 'InProgress') return before
  return nextMove(request, parseRenumberRequest(annotation), input)
}

function ended({ current: _, ...rest }: RenumberStatus): RenumberStatus {
  return rest
}

type Result = { is: 'waiting' } | { is: 'finished' } | { is: 'failed' | 'stopped'; message: string }

function resultOf(move: MoveInProgress, { annotation, plan, nodes }: RenumberInput): Result {
  const { nodeName, portId, from, to, phase } = move
  const node = nodes.find(one => one.nodeName === nodeName)
  const nic = interfaceIn(node, portId)
  const planned = interfaceIn(
    plan.nodes.find(one => one.nodeName === nodeName),
    portId,
  )
  const because = `${nodeName} ${from} → ${to}: ${move.message ?? 'rolled back'}`
  if (!node || !nic) return phase === 'Moving' ? { is: 'finished' } : { is: 'stopped', message: because }
  if (phase === 'RollingBack') {
    if (nic.name === from) return { is: 'stopped', message: `${because}; the index is ${from} again` }
    if (planned?.name === from) return { is: 'waiting' }
    return { is: 'stopped', message: `${because}; cannot roll it back, because ${from} is in use` }
  }
  if (nic.name === from) {
    const isWanted = planned?.name === to || plan.moves.some(one => isSame(one, move) && !one.blocked)
    return annotation !== undefined && isWanted ? { is: 'waiting' } : { is: 'finished' }
  }
  const exchanged = interfaceIn(node, move.exchange?.portId)
  if (nic.name !== to || [nic, ...(exchanged ? [exchanged] : [])].every(one => isProven(node, one)))
    return { is: 'finished' }
  const { state, reason = '', message = '' } = stateOf(node)
  if (state === 'Failed') return { is: 'failed', message: whyFailed(node, [nic, exchanged]) ?? `${reason}: ${message}` }
  if (annotation === undefined && state === 'Pending') return { is: 'failed', message: 'the request was withdrawn' }
  return { is: 'waiting' }
}

function interfaceIn(node: { interfaces: readonly Interface[] } | undefined, portId: string | undefined) {
  return portId === undefined ? undefined : node?.interfaces.find(nic => nic.portId === portId)
}

/** An agent reported that the interface is as requested. */
function isProven({ status, generation }: DeliveredNode, nic: Interface): boolean {
  const found = statusOf(nic, status?.interfaceStatuses ?? [])
  return (
    (status?.observedGeneration ?? 0) >= generation &&
    found?.status === 'Configured' &&
    !found.pending &&
    (found.specHash === undefined ? found.id === nic.index : found.specHash === interfaceHash(nic))
  )
}

/** Of both interfaces: often one fails only because the other keeps the name. */
function whyFailed({ status }: DeliveredNode, nics: readonly (Interface | undefined)[]): string | undefined {
  const found = nics.flatMap(nic => (nic && statusOf(nic, status?.interfaceStatuses ?? [])) ?? [])
  const texts = found.filter(one => one.status === 'Failed').map(({ reason, message }) => `${reason}: ${message}`)
  return texts.length > 0 ? [...new Set(texts)].join('; ') : undefined
}

function isSame(a: Pick<Move, 'nodeName' | 'portId' | 'to'>, b: Pick<Move, 'nodeName' | 'portId' | 'to'>): boolean {
  return a.nodeName === b.nodeName && a.portId === b.portId && a.to === b.to
}

function nextMove(request: string, asked: RenumberRequest | undefined, input: RenumberInput): RenumberStatus {
  const { plan, nodes, nodesReported } = input
  const total = asked?.moves.length ?? 0
  const isDone = ({ nodeName, portId, to }: RenumberRequest['moves'][number]) =>
    interfaceIn(
      nodes.find(one => one.nodeName === nodeName),
      portId,
    )?.name === to
  const done = asked?.moves.filter(isDone).length ?? 0
  const progress = (state: RenumberStatus['state'], message: string, current?: MoveInProgress): RenumberStatus => ({
    ...{ request, state, total, done, message: limited(message) },
    ...(current && { current }),
  })
  if (input.isNew)
    return progress(
      'Stopped',
      'the request came with the object, from a file: ask again with multinic renumber --apply',
    )
  // The API server drops a field that its CRD does not have. Without it, the operator would begin again in each sync.
  if (!input.before && (input.reasonBefore === 'RenumberInProgress' || input.reasonBefore === 'RenumberStopped'))
    return progress(
      'Stopped',
      'the CRD of OpenstackConfig is older than the operator and drops status.renumber: apply it',
    )
  if (!asked) return progress('Stopped', 'the annotation multinic.io/renumber is not a request of multinic renumber')
  if (!nodesReported)
    return progress('Stopped', 'this Viola does not report the state of nodes, so no move could be proven')

  const remaining = plan.moves.filter(move => asked.moves.some(one => isSame(one, move)))
  const obstacles = remaining.map(move => ({ move, ...obstacleTo(move, nodes) }))
  const next = obstacles.find(({ why }) => why === undefined)?.move
  if (next) {
    const { subnetName: _, blocked: __, ...move } = next
    const text = `${done} of ${total} renumbered; ${move.nodeName} ${move.from} becomes ${move.to}`
    return progress('InProgress', text, { ...move, phase: 'Moving' })
  }
  const texts = obstacles.slice(0, 5).map(({ move, why }) => `${move.nodeName} ${move.from} → ${move.to}: ${why}`)
  const waiting = obstacles.some(one => one.waits)
  if (texts.length > 0)
    return progress(waiting ? 'InProgress' : 'Stopped', `${done} of ${total} renumbered; ${texts.join('; ')}`)
  const skipped = total - done
  return progress('Done', `${done} of ${total} renumbered${skipped > 0 ? `; ${skipped} no longer to be moved` : ''}`)
}

/** Why a move cannot start now. `waits`: it may start later without a person. */
function obstacleTo(move: Move, nodes: readonly DeliveredNode[]): { why?: string; waits?: boolean } {
  if (move.blocked !== undefined) return { why: move.blocked }
  const node = nodes.find(one => one.nodeName === move.nodeName)
  const { state = 'Pending', reason } = node ? stateOf(node) : {}
  if (state === 'Configured') return {}
  return { why: `the node is ${state}${reason ? ` (${reason})` : ''}`, waits: state !== 'Failed' }
}

function limited(text: string): string {
  return truncate(text, maxMessage)
}
