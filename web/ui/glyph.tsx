/**
 * The shape and color of each severity; nothing else maps them.
 *
 * The shapes are inline, not references to the sprite: the matrix shows hundreds of them, and every reference adds a shadow tree.
 */
import type { ComponentChildren } from 'preact'
import type { Severity } from '../model/nodes.ts'

export type Shape = Severity | 'none'

const shapes: Record<Shape, () => ComponentChildren> = {
  configured: () => [
    <rect key="f" class="fill-ok" x="1.75" y="1.75" width="12.5" height="12.5" rx="3.5" />,
    <path key="k" class="stroke-ok" d="M5 8.3l2.1 2.1L11.2 6" />,
  ],
  inProgress: () => [
    <circle key="f" class="stroke-accent-soft" cx="8" cy="8" r="5.75" />,
    <path key="k" class="stroke-accent" d="M8 2.25A5.75 5.75 0 1 1 2.25 8" />,
  ],
  pending: () => <circle class="stroke-dashed" cx="8" cy="8" r="5.75" />,
  failed: () => [
    <path
      key="f"
      class="fill-bad"
      d="M8 .4a1.2 1.2 0 0 1 .85.35l6.4 6.4a1.2 1.2 0 0 1 0 1.7l-6.4 6.4a1.2 1.2 0 0 1-1.7 0l-6.4-6.4a1.2 1.2 0 0 1 0-1.7l6.4-6.4A1.2 1.2 0 0 1 8 .4z"
    />,
    <path key="k" class="stroke-on-bad" d="M5.9 5.9l4.2 4.2M10.1 5.9l-4.2 4.2" />,
  ],
  drifted: () => [
    <path
      key="f"
      class="fill-warn"
      d="M8 1.2c.5 0 .9.25 1.15.7l6 10.6a1.3 1.3 0 0 1-1.15 2H2a1.3 1.3 0 0 1-1.15-2l6-10.6c.25-.45.65-.7 1.15-.7z"
    />,
    <path key="k" class="stroke-on-warn" d="M5.6 8.6h4.8M5.6 11.2h4.8M9.3 7.1l-2.4 5.6" />,
  ],
  onHold: () => [
    <path key="f" class="fill-warn" d="M5 1h6l4 4v6l-4 4H5l-4-4V5z" />,
    <path key="k" class="stroke-on-warn bold" d="M6.2 5.4v5.2M9.8 5.4v5.2" />,
  ],
  removing: () => [
    <rect key="f" class="stroke-idle" x="2" y="2" width="12" height="12" rx="3.5" />,
    <path key="k" class="stroke-idle bold" d="M5.3 8h5.4" />,
  ],
  none: () => <circle class="fill-dot" cx="8" cy="8" r="1.5" />,
}

interface GlyphProps {
  severity: Shape
  large?: boolean
  /** Position and size inside another picture. */
  at?: [x: number, y: number, size: number]
}

export function Glyph({ severity, large = false, at }: GlyphProps) {
  const [x, y, size] = at ?? []
  return (
    <svg
      class={`glyph glyph-${severity}${large ? ' large' : ''}`}
      viewBox="0 0 16 16"
      x={x}
      y={y}
      width={size}
      height={size}
      aria-hidden="true"
    >
      {shapes[severity]()}
    </svg>
  )
}
