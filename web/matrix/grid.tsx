/**
 * The table of the matrix: only the rows in sight are there, and a row that has left becomes the one that comes. Walked with the
 * arrow keys; one card for all cells.
 */

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { type Node, slots } from '../model/nodes.ts'
import { poolOf, windowOf } from '../node/layout.ts'
import { age } from '../ui/format.ts'
import { Icon, useUi } from '../ui/ui.tsx'
import { MatrixCard, type Picked } from './card.tsx'
import { MiniMap } from './minimap.tsx'
import { commonStart, Row } from './row.tsx'
import { watchSight } from './visible-rows.ts'

export type Order = 'worst' | 'name' | 'changed'
const heights = { roomy: 37, standard: 25, tight: 17 } as const
export type Density = keyof typeof heights
const headHeight = 36

/** Column -1 is the name of the node. */
interface Place {
  row: number
  slot: number
}

interface GridProps {
  nodes: readonly Node[]
  order: Order
  density: Density
  ask: (change: Record<string, string>) => void
}

export function MatrixGrid({ nodes, order, density, ask }: GridProps) {
  const { say, now } = useUi()
  const rowHeight = heights[density]
  const [picked, setPicked] = useState<Picked>()
  const [place, setPlace] = useState<Place>({ row: 0, slot: -1 })
  const { box, first, last, pool } = useWindow(nodes.length, rowHeight)
  const moveTo = (top: number) => box.current?.scrollTo({ top })

  const focusing = useRef(false)
  useLayoutEffect(() => {
    if (focusing.current) {
      focusing.current = false
      box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true })
    }
    // The row with the focus has left, and its place was taken by another.
    const active = document.activeElement
    if (active instanceof HTMLElement && box.current?.contains(active) && active.dataset['row'] !== undefined)
      if (Number(active.dataset['row']) !== place.row) active.blur()
  })
  const moved = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setPicked(undefined)
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {}
    const next = stepFrom(event.key, place, nodes, Math.floor(clientHeight / rowHeight) - 2)
    if (!next) return
    event.preventDefault()
    focusing.current = true
    setPlace(next)
    const [top, room] = [next.row * rowHeight, clientHeight - headHeight - rowHeight]
    if (top < scrollTop) moveTo(top)
    else if (top > scrollTop + room) moveTo(top - room)
  }
  const pick = (event: Event) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('a[data-slot]') : null
    if (cell && event.type === 'focusin')
      setPlace({ row: Number(cell.dataset['row']), slot: Number(cell.dataset['slot']) })
    const node = nodes[Number(cell?.dataset['row'])]
    const nic = node?.nics.find(each => each.slot === Number(cell?.dataset['slot']))
    setPicked(cell && node && nic ? { node, nic, box: cell.getBoundingClientRect() } : undefined)
  }
  const common = useMemo(() => commonStart(nodes), [nodes])

  return (
    <>
      <div class="mx">
        {/* The scroll box takes wheel and touch; the keys work on the cells in it. */}
        <div
          class={`mxbox d-${density}`}
          ref={box}
          onPointerOver={pick}
          onPointerLeave={() => setPicked(undefined)}
          onFocusIn={pick}
        >
          <table class="mxt" aria-rowcount={nodes.length + 1} onKeyDown={moved}>
            <caption class="sr">{say('matrix.caption')}</caption>
            <thead>
              <tr aria-rowindex={1}>
                <Sorter order="name" now={order} ask={ask} class="c-node" text={say('matrix.node')} />
                {Array.from({ length: slots }, (_, slot) => (
                  <th key={slot} class="c" scope="col">
                    {say('matrix.nic')} <span>{slot}</span>
                  </th>
                ))}
                <Sorter order="worst" now={order} ask={ask} class="num c-sum" text={say('matrix.worst')} />
                <Sorter order="changed" now={order} ask={ask} class="num c-chg" text={say('matrix.changed')} />
              </tr>
            </thead>
            <tbody style={{ height: `${nodes.length * rowHeight}px` }}>
              {nodes.slice(first, last).map((node, index) => (
                <Row
                  key={(first + index) % pool}
                  node={node}
                  row={first + index}
                  top={(first + index) * rowHeight}
                  common={common}
                  focus={place.row === first + index ? place.slot : undefined}
                  changed={age(node.updatedAt, now, say)}
                />
              ))}
            </tbody>
          </table>
        </div>
        <MiniMap nodes={nodes} box={box} rowHeight={rowHeight} />
      </div>
      {picked && <MatrixCard picked={picked} />}
    </>
  )
}

/** The box that scrolls, and the rows that are in sight there. */
function useWindow(rows: number, rowHeight: number) {
  const box = useRef<HTMLDivElement>(null)
  const [state, setState] = useState({ first: 0, last: Math.min(rows, 48), pool: 64 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => {
      const { scrollTop, clientHeight } = element
      const next = { ...windowOf(rows, rowHeight, scrollTop, clientHeight), pool: poolOf(rowHeight, clientHeight) }
      setState(was => (was.first === next.first && was.last === next.last && was.pool === next.pool ? was : next))
    }
    return watchSight(element, look)
  }, [rows, rowHeight])
  return { box, ...state }
}

interface SorterProps {
  order: Order
  now: Order
  class: string
  text: string
  ask: (change: Record<string, string>) => void
}

function Sorter({ order, now, class: kind, text, ask }: SorterProps) {
  return (
    <th
      class={kind}
      scope="col"
      aria-sort={order === now ? (order === 'changed' ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" onClick={() => ask({ order: order === 'worst' ? '' : order })}>
        {text}
        {order === now && <Icon name="sort" size={12} />}
      </button>
    </th>
  )
}

function stepFrom(key: string, { row, slot }: Place, nodes: readonly Node[], page: number): Place | undefined {
  const columns = (at: number) => [-1, ...(nodes[at]?.nics ?? []).map(nic => nic.slot)]
  const clamp = (at: number) => Math.max(0, Math.min(nodes.length - 1, at))
  const inRow = (at: number): Place => ({ row: at, slot: columns(at).findLast(each => each <= slot) ?? -1 })
  switch (key) {
    case 'ArrowDown':
      return inRow(clamp(row + 1))
    case 'ArrowUp':
      return inRow(clamp(row - 1))
    case 'PageDown':
      return inRow(clamp(row + page))
    case 'PageUp':
      return inRow(clamp(row - page))
    case 'ArrowRight':
      return { row, slot: columns(row).find(each => each > slot) ?? slot }
    case 'ArrowLeft':
      return { row, slot: columns(row).findLast(each => each < slot) ?? slot }
    case 'Home':
      return { row: 0, slot: -1 }
    case 'End':
      return { row: nodes.length - 1, slot: -1 }
    default:
      return undefined
  }
}
