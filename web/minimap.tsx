/**
 * All rows of the matrix at a glance, and the part that is in sight. The table itself is reached by keys; this is for pointers.
 */
import { useMemo } from 'preact/hooks'
import { count } from './format.ts'
import { minimapPaths } from './layout.ts'
import { useUi } from './ui.tsx'
import type { Look, Node } from './view.ts'

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
  /** In rows. */
  from: number
  rows: number
  moveTo: (row: number) => void
}

export function MiniMap({ nodes, from, rows, moveTo }: MiniMapProps) {
  const { say, language } = useUi()
  const height = Math.min(420, Math.max(24, nodes.length * 5))
  const drawn = useMemo(
    () => minimapPaths(nodes, height).map(({ look, path }) => <path key={look} class={fills[look]} d={path} />),
    [nodes, height],
  )
  const row = height / Math.max(1, nodes.length)
  const jump = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof Element) || event.buttons === 0) return
    const box = event.currentTarget.getBoundingClientRect()
    moveTo(((event.clientY - box.top) / box.height) * nodes.length - rows / 2)
  }
  return (
    <aside class="mini">
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
    </aside>
  )
}
