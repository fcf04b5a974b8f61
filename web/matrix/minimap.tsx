/**
 * All rows of the matrix at a glance, with the visible part marked. For pointers only: keys work in the table.
 */
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { Node, Severity } from '../model/nodes.ts'
import { useUi } from '../ui/context.ts'
import { count } from '../ui/format.ts'
import { minimapPaths } from './minimap-paths.ts'
import { observeViewport } from './viewport.ts'

const fills: Record<Severity, string> = {
  configured: 'map-ok',
  failed: 'map-bad',
  drifted: 'map-warn',
  onHold: 'map-warn',
  inProgress: 'map-accent',
  pending: 'map-idle',
  removing: 'map-idle',
}

interface MiniMapProps {
  nodes: readonly Node[]
  /** The element that scrolls the rows. */
  box: { current: HTMLElement | null }
  rowHeight: number
}

export function MiniMap({ nodes, box, rowHeight }: MiniMapProps) {
  const { t, language } = useUi()
  const { from, rows } = useViewport(box, rowHeight)
  const height = Math.min(420, Math.max(24, nodes.length * 5))
  const paths = useMemo(
    () =>
      minimapPaths(nodes, height).map(({ severity, path }) => <path key={severity} class={fills[severity]} d={path} />),
    [nodes, height],
  )
  const heightPerNode = height / Math.max(1, nodes.length)
  const scroll = (event: PointerEvent) => {
    if (!(event.currentTarget instanceof Element) || event.buttons === 0) return
    const bounds = event.currentTarget.getBoundingClientRect()
    const middle = ((event.clientY - bounds.top) / bounds.height) * nodes.length
    box.current?.scrollTo({ top: (middle - rows / 2) * rowHeight })
  }
  return (
    <div class="minimap">
      <div class="caption">{t('matrix.all')}</div>
      <svg
        viewBox={`0 0 66 ${height}`}
        role="img"
        aria-label={t('matrix.minimap', { nodes: t('count.nodes', { n: count(nodes.length, language) }) })}
        onPointerDown={scroll}
        onPointerMove={scroll}
      >
        {paths}
        <rect class="hit-area" width="66" height={height} />
      </svg>
      {rows < nodes.length && (
        <svg class="view" viewBox={`0 0 66 ${height}`} aria-hidden="true">
          <rect
            class="map-viewport"
            x="0.5"
            y={from * heightPerNode}
            width="65"
            height={Math.max(6, rows * heightPerNode)}
            rx="2"
          />
        </svg>
      )}
      {rows < nodes.length && <p class="tip">{t('matrix.minimapHint')}</p>}
    </div>
  )
}

/** The visible part in rows. Changes with every pixel, so it is state of the minimap alone. */
function useViewport(box: MiniMapProps['box'], rowHeight: number): { from: number; rows: number } {
  const [viewport, setViewport] = useState({ from: 0, rows: 0 })
  useEffect(() => {
    const element = box.current
    if (!element) return
    return observeViewport(element, () =>
      setViewport({ from: element.scrollTop / rowHeight, rows: element.clientHeight / rowHeight }),
    )
  }, [box, rowHeight])
  return viewport
}
