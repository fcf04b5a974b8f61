/**
 * The parts that screens consist of: panels, badges, icons, labels of a severity, lists of facts.
 */
import type { ComponentChildren } from 'preact'
import type { Severity } from '../model/nodes.ts'
import { useUi } from './context.ts'
import { Glyph } from './glyph.tsx'

export function Icon({ name, size = 16 }: { name: string; size?: 12 | 14 | 16 | 20 }) {
  return (
    <svg class={`icon-${size}`} aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  )
}

export function SeverityLabel({ severity, text }: { severity: Severity; text?: string }) {
  const { t } = useUi()
  return (
    <span class={`state-label state-${severity}`}>
      <Glyph severity={severity} />
      {text ?? t(`severity.${severity}`)}
    </span>
  )
}

export const tones: Record<Severity, string> = {
  failed: 'bad',
  drifted: 'warn',
  onHold: 'warn',
  pending: '',
  inProgress: 'accent',
  removing: '',
  configured: 'ok',
}

export function Badge({ tone = '', children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

interface PanelProps {
  title?: ComponentChildren
  badge?: ComponentChildren
  right?: ComponentChildren
  class?: string
  children: ComponentChildren
}

export function Panel({ title, badge, right, class: more = '', children }: PanelProps) {
  return (
    <section class={`panel ${more}`}>
      {title !== undefined && (
        <header>
          <h2>{title}</h2>
          {badge}
          {right !== undefined && <span class="right">{right}</span>}
        </header>
      )}
      {children}
    </section>
  )
}

/** Names and values. Leaves out empty values. */
export function FactList({ facts }: { facts: [string, string | number | undefined][] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <>
            <dt key={`${name} name`}>{name}</dt>
            <dd key={name} class="mono">
              {value}
            </dd>
          </>
        ))}
    </dl>
  )
}
