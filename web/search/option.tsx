/**
 * One result of the search.
 */
import type { ComponentChildren } from 'preact'

export interface OptionProps {
  index: number
  /** The result that Enter opens. */
  active: number
  open: (href: string) => void
}

interface PaletteOptionProps extends OptionProps {
  href: string
  icon: ComponentChildren
  /** The kind of the value, or the screen that opens. */
  kind: string
  children: ComponentChildren
}

export function PaletteOption({ index, active, open, href, icon, kind, children }: PaletteOptionProps) {
  return (
    <button
      type="button"
      role="option"
      class="option"
      tabIndex={-1}
      id={`hit-${index}`}
      aria-selected={index === active}
      onClick={() => open(href)}
    >
      {icon}
      <span class="option-text">{children}</span>
      <span class="dim nowrap">{index === active ? <kbd>↵</kbd> : kind}</span>
    </button>
  )
}
