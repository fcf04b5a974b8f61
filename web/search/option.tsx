/**
 * One line of what the search box found: a sign, the words, and what opens with it.
 */
import type { ComponentChildren } from 'preact'

export interface OptionProps {
  index: number
  /** The line that Enter opens. */
  at: number
  open: (href: string) => void
}

interface LineProps extends OptionProps {
  href: string
  sign: ComponentChildren
  /** Where it leads to, or what it is. */
  kind: string
  children: ComponentChildren
}

export function PaletteOption({ index, at, open, href, sign, kind, children }: LineProps) {
  return (
    <button
      type="button"
      role="option"
      class="hit"
      tabIndex={-1}
      id={`hit-${index}`}
      aria-selected={index === at}
      onClick={() => open(href)}
    >
      {sign}
      <span class="tx">{children}</span>
      <span class="dim nowrap">{index === at ? <kbd>↵</kbd> : kind}</span>
    </button>
  )
}
