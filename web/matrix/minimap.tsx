/**
 * All rows of the matrix at a glance, and the part that is in sight. The table itself is reached by keys; this is for pointers.
 */

import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Look, Node } from '../model/nodes.ts'
import { minimapPaths } from '../node/layout.ts'
import { count } from '../ui/format.ts'
import { useUi } from '../ui/ui.tsx'
import { watchSight } from './visible-rows.ts'

const fills: Record<Look, string> = {
  ok: 'm-ok',
  bad: 'm-bad',
  drift: 'm-warn',
  held: 'm-warn',
  prog: 'm-acc',
  pend: 'm-idle',
  rem: 'm-idle',
}

interface MiniMapProps {
  nodes: readonly Node[]
  /** What scrolls the rows. */
  box: { current: HTMLElement | null }
  rowHeight: number
}

export function MiniMap({ nodes, box, rowHeight }: MiniMapProps) {
  const { say, language } = useUi()
  const { from, rows } = useSight(box, rowHeight)
  const height = Math.min(420, Math.max(24, nodes.length * 5))
  const drawn = useMemo(
    () => minimapPaths(nodes, height).map(({ look, path }) => <path key={look} class={fills[look]} d={path} />),
    [nodes, height],
  )
  const row = height / Math.max(1, nodes.length)
  const jump = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof Element) || event.buttons === 0) return
    const { top, height: tall } = event.currentTarget.getBoundingClientRect()
    const middle = ((event.clientY - top) / tall) * nodes.length
    box.current?.scrollTo({ top: (middle - rows / 2) * rowHeight })
  }
  return (
    <div class="mini">
      <div class="cap">{say('matrix.all')}</div>
      <svg
        viewBox={`0 0 66 ${height}`}
        role="img"
        aria-label={say('matrix.map', { nodes: say('many.nodes', { n: count(nodes.length, language) }) })}
        onPointerDown={jump}
        onPointerMove={jump}
      >
        {drawn}
        <rect class="hit" width="66" height={height} />
      </svg>
      {rows < nodes.length && (
        <svg class="view" viewBox={`0 0 66 ${height}`} aria-hidden="true">
          <rect class="m-view" x="0.5" y={from * row} width="65" height={Math.max(6, rows * row)} rx="2" />
        </svg>
      )}
      {rows < nodes.length && <p class="tips">{say('matrix.mapHint')}</p>}
    </div>
  )
}

/** What is in sight of the box, in rows. Kept here: only this moves with every pixel. */
function useSight(box: MiniMapProps['box'], rowHeight: number): { from: number; rows: number } {
  const [sight, setSight] = useState({ from: 0, rows: 0 })
  useEffect(() => {
    const element = box.current
    if (!element) return
    const look = () => setSight({ from: element.scrollTop / rowHeight, rows: element.clientHeight / rowHeight })
    return watchSight(element, look)
  }, [box, rowHeight])
  return sight
}
