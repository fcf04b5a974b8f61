/**
 * Text of `renumber`: the moves, what speaks against them, and the requests of the objects. Pure.
 */
import type { PlanAnswer } from '../../contract/operator-api.ts'
import type { RenumberStatus } from '../../contract/renumber-status.ts'
import type { RenderOptions } from '../output.ts'
import { type Column, tableOf } from './list.ts'
import type { Cell } from './table.ts'

export type Move = NonNullable<PlanAnswer['moves']>[number]

/** A move, and what speaks against it. */
export interface ShownMove extends Move {
  /** namespace/name of the OpenstackConfig. */
  config: string
  /** Pods that use an interface of the move, as namespace/name. */
  usedBy: string[]
  /** Why the Pods of the node were not checked. */
  podsNotChecked?: string
}

export function renumberLines(
  moves: readonly ShownMove[],
  requests: readonly (RenumberStatus & { config: string })[],
  options: RenderOptions,
): string[] {
  const { texts, paint } = options
  return [
    ...requests.map(({ config, state, message = '' }) =>
      paint(
        state === 'Stopped' ? 'bad' : state === 'Done' ? 'good' : 'busy',
        `OpenstackConfig ${config}  ${state}: ${message}`,
      ),
    ),
    ...(moves.length > 0 ? tableOf(moves, moveColumns, options) : [texts.renumber.nothing]),
  ]
}

const moveColumns: Column<ShownMove>[] = [
  { name: 'nodeName', title: ({ columns }) => columns.node },
  {
    title: ({ columns }) => columns.interface,
    cell: move => [move, ...(move.exchange ? [move.exchange] : [])].map(moveText).join(', '),
  },
  { name: 'subnetName', title: ({ columns }) => columns.subnet, drop: 1 },
  { title: ({ columns }) => columns.state, cell: stateOf },
  { name: 'portId', title: ({ columns }) => columns.port, wide: true },
]

function moveText({ from, to }: { from: string; to: string }): string {
  return `${from} → ${to}`
}

function stateOf({ blocked, usedBy, podsNotChecked }: ShownMove, { texts: { renumber } }: RenderOptions): Cell {
  if (blocked !== undefined) return { text: blocked, tone: 'bad' }
  if (usedBy.length > 0) return { text: renumber.usedBy(usedBy.slice(0, 3).join(', '), usedBy.length - 3), tone: 'bad' }
  if (podsNotChecked !== undefined) return { text: renumber.notChecked(podsNotChecked), tone: 'busy' }
  return { text: renumber.ready, tone: 'good' }
}
