/**
 * The table of the matrix. Only visible rows are rendered, and their elements are reused. Arrow keys move between cells; one card
 * shows the details of the current cell.
 */
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { maxInterfaces } from '../../src/contract/interface-fields.ts'
import type { Node } from '../model/nodes.ts'
import { observationAt } from '../model/observations.ts'
import { useUi } from '../ui/context.ts'
import { age } from '../ui/format.ts'
import { Icon } from '../ui/panel.tsx'
import { type HoveredCell, MatrixCard } from './card.tsx'
import { MiniMap } from './minimap.tsx'
import { Row } from './row.tsx'
import { commonPrefix } from './short-address.ts'
import { observeViewport } from './viewport.ts'
import { maxVisibleRows, visibleRange } from './visible-rows.ts'

export type Order = 'worst' | 'name' | 'changed'
const heights = { comfortable: 37, standard: 25, compact: 17 } as const
export type Density = keyof typeof heights
const headHeight = 36

/** Index -1 is the name of the node. */
interface Position {
  row: number
  index: number
}

interface GridProps {
  nodes: readonly Node[]
  order: Order
  density: Density
  setQuery: (change: Record<string, string>) => void
}

export function MatrixGrid({ nodes, order, density, setQuery }: GridProps) {
  const { t, now } = useUi()
  const rowHeight = heights[density]
  const [hovered, setHovered] = useState<HoveredCell>()
  const [position, setPosition] = useState<Position>({ row: 0, index: -1 })
  const { box, first, last, pool } = useVisibleRows(nodes.length, rowHeight)
  const scrollTo = (top: number) => box.current?.scrollTo({ top })

  const focusPending = useRef(false)
  useLayoutEffect(() => {
    if (focusPending.current) {
      focusPending.current = false
      box.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true })
    }
    // The focused row scrolled out, and its element now shows another row.
    const active = document.activeElement
    if (active instanceof HTMLElement && box.current?.contains(active) && active.dataset['row'] !== undefined)
      if (Number(active.dataset['row']) !== position.row) active.blur()
  })
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape') return setHovered(undefined)
    const { scrollTop = 0, clientHeight = 0 } = box.current ?? {}
    const next = positionAfter(event.key, position, nodes, Math.floor(clientHeight / rowHeight) - 2)
    if (!next) return
    event.preventDefault()
    focusPending.current = true
    setPosition(next)
    const [top, space] = [next.row * rowHeight, clientHeight - headHeight - rowHeight]
    if (top < scrollTop) scrollTo(top)
    else if (top > scrollTop + space) scrollTo(top - space)
  }
  const hover = (event: Event) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>('a[data-index]') : null
    if (cell && event.type === 'focusin')
      setPosition({ row: Number(cell.dataset['row']), index: Number(cell.dataset['index']) })
    const node = nodes[Number(cell?.dataset['row'])]
    const nic = node?.nics.find(each => each.index === Number(cell?.dataset['index']))
    setHovered(cell && node && nic ? { node, nic, box: cell.getBoundingClientRect() } : undefined)
  }
  const prefix = useMemo(() => commonPrefix(nodes), [nodes])

  return (
    <>
      <div class="matrix">
        {/* The scroll box handles wheel and touch; the table handles keys. */}
        <div
          class={`matrix-scroll density-${density}`}
          ref={box}
          onPointerOver={hover}
          onPointerLeave={() => setHovered(undefined)}
          onFocusIn={hover}
        >
          <table class="matrix-table" aria-rowcount={nodes.length + 1} onKeyDown={onKeyDown}>
            <caption class="visually-hidden">{t('matrix.caption')}</caption>
            <thead>
              <tr aria-rowindex={1}>
                <SortHeader order="name" current={order} setQuery={setQuery} text={t('matrix.node')} />
                {Array.from({ length: maxInterfaces }, (_, index) => (
                  <th key={index} class="cell" scope="col">
                    {t('matrix.nic')} <span>{index}</span>
                  </th>
                ))}
                <SortHeader order="worst" current={order} setQuery={setQuery} number text={t('matrix.worst')} />
                <SortHeader order="changed" current={order} setQuery={setQuery} number text={t('matrix.changed')} />
              </tr>
            </thead>
            <tbody style={{ height: `${nodes.length * rowHeight}px` }}>
              {nodes.slice(first, last).map((node, offset) => (
                <Row
                  key={(first + offset) % pool}
                  node={node}
                  row={first + offset}
                  top={(first + offset) * rowHeight}
                  prefix={prefix}
                  focus={position.row === first + offset ? position.index : undefined}
                  changed={age(node.updatedAt, now, t)}
                  unverified={node.nics
                    .filter(nic => observationAt(nic, now).notVerifiedSince !== undefined)
                    .map(({ index }) => index)
                    .join(' ')}
                />
              ))}
            </tbody>
          </table>
        </div>
        <MiniMap nodes={nodes} box={box} rowHeight={rowHeight} />
      </div>
      {hovered && <MatrixCard cell={hovered} />}
    </>
  )
}

function useVisibleRows(rows: number, rowHeight: number) {
  const box = useRef<HTMLDivElement>(null)
  const [state, setState] = useState({ first: 0, last: Math.min(rows, 48), pool: 64 })
  useLayoutEffect(() => {
    const element = box.current
    if (!element) return
    return observeViewport(element, () => {
      const { scrollTop, clientHeight } = element
      const pool = maxVisibleRows(rowHeight, clientHeight)
      const next = { ...visibleRange(rows, rowHeight, scrollTop, clientHeight), pool }
      setState(was => (was.first === next.first && was.last === next.last && was.pool === next.pool ? was : next))
    })
  }, [rows, rowHeight])
  return { box, ...state }
}

interface SortHeaderProps {
  order: Order
  current: Order
  text: string
  number?: boolean
  setQuery: (change: Record<string, string>) => void
}

function SortHeader({ order, current, text, number = false, setQuery }: SortHeaderProps) {
  return (
    <th
      class={number ? 'number' : undefined}
      scope="col"
      aria-sort={order === current ? (order === 'changed' ? 'descending' : 'ascending') : undefined}
    >
      <button type="button" onClick={() => setQuery({ order: order === 'worst' ? '' : order })}>
        {text}
        {order === current && <Icon name="sort" size={12} />}
      </button>
    </th>
  )
}

function positionAfter(
  key: string,
  { row, index }: Position,
  nodes: readonly Node[],
  pageSize: number,
): Position | undefined {
  const indexesIn = (at: number) => [-1, ...(nodes[at]?.nics ?? []).map(nic => nic.index)]
  const clamp = (at: number) => Math.max(0, Math.min(nodes.length - 1, at))
  const inRow = (at: number): Position => ({ row: at, index: indexesIn(at).findLast(each => each <= index) ?? -1 })
  switch (key) {
    case 'ArrowDown':
      return inRow(clamp(row + 1))
    case 'ArrowUp':
      return inRow(clamp(row - 1))
    case 'PageDown':
      return inRow(clamp(row + pageSize))
    case 'PageUp':
      return inRow(clamp(row - pageSize))
    case 'ArrowRight':
      return { row, index: indexesIn(row).find(each => each > index) ?? index }
    case 'ArrowLeft':
      return { row, index: indexesIn(row).findLast(each => each < index) ?? index }
    case 'Home':
      return { row: 0, index: -1 }
    case 'End':
      return { row: nodes.length - 1, index: -1 }
    default:
      return undefined
  }
}
