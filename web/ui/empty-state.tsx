/**
 * What a panel shows without data: a picture with a sentence, or a skeleton while the data loads.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useUi } from './context.ts'

const accents = {
  allClear: 'M55 39l8 8 15-17',
  noMatch: 'M50 34h20M75 49l16 16',
  empty: 'M105 32v12M99 38h12',
  unreachable: 'M60 32l12 12M72 32L60 44',
  token: 'M66 46v7',
  choice: 'M32 22h34M32 54h34',
} as const

interface EmptyStateProps {
  kind: keyof typeof accents
  title: string
  text?: string
  code?: string
  children?: ComponentChildren
}

export function EmptyState({ kind, title, text, code, children }: EmptyStateProps) {
  return (
    <div class="empty-state">
      <svg class="illustration" viewBox="0 0 132 76" aria-hidden="true">
        {kind === 'allClear' && <circle class="art-fill" cx="66" cy="38" r="26" />}
        {kind === 'noMatch' && <circle class="art-line" cx="60" cy="34" r="20" />}
        {kind === 'empty' && (
          <path
            class="art-dashed"
            d="M56 38h30M86 32a8 8 0 0 1 8-8h22a8 8 0 0 1 8 8v12a8 8 0 0 1-8 8H94a8 8 0 0 1-8-8z"
          />
        )}
        {kind === 'empty' && <rect class="art-fill" x="8" y="16" width="48" height="44" rx="8" />}
        {kind === 'unreachable' && (
          <path
            class="art-fill"
            d="M18 18h28a8 8 0 0 1 8 8v24a8 8 0 0 1-8 8H18a8 8 0 0 1-8-8V26a8 8 0 0 1 8-8zM86 18h28a8 8 0 0 1 8 8v24a8 8 0 0 1-8 8H86a8 8 0 0 1-8-8V26a8 8 0 0 1 8-8z"
          />
        )}
        {kind === 'choice' && <rect class="art-fill" x="20" y="10" width="92" height="24" rx="7" />}
        {kind === 'choice' && <rect class="art-fill" x="20" y="42" width="92" height="24" rx="7" />}
        {kind === 'token' && <path class="art-line" d="M52 34v-8a14 14 0 0 1 28 0v8" />}
        {kind === 'token' && <rect class="art-fill" x="42" y="34" width="48" height="32" rx="8" />}
        <path class={kind === 'unreachable' ? 'art-bad' : 'art-accent'} d={accents[kind]} />
      </svg>
      <b>{title}</b>
      {text && <p>{text}</p>}
      {code && <span class="code">{code}</span>}
      {children && <div class="buttons">{children}</div>}
    </div>
  )
}

/** Appears after 200 ms, so that a fast response shows no flicker. */
export function Skeleton({ rows = 6, kind = 'rows' }: { rows?: number; kind?: 'rows' | 'chart' }) {
  const { t } = useUi()
  const [visible, setVisible] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setVisible(true), 200)
    return () => clearTimeout(timer)
  }, [])
  if (!visible) return null
  if (kind === 'chart')
    return (
      <svg class="chart" viewBox="0 0 440 240" role="img" aria-label={t('app.loading')}>
        <rect class="skeleton" x="16" y="18" width="96" height="30" rx="5" />
        <rect class="skeleton" x="140" y="18" width="96" height="30" rx="5" />
        {Array.from({ length: 20 }, (_, bar) => {
          const height = 40 + ((bar * 37) % 90)
          return (
            <rect key={bar} class="skeleton" x={18 + bar * 20.5} y={214 - height} width="12" height={height} rx="4" />
          )
        })}
      </svg>
    )
  return (
    <svg class="chart" viewBox={`0 0 760 ${rows * 37 + 14}`} role="img" aria-label={t('app.loading')}>
      {Array.from({ length: rows }, (_, row) => row * 37 + 18).map((y, row) => (
        <g key={y}>
          <rect class="skeleton" x="16" y={y} width={96 + ((row * 29) % 44)} height="10" rx="5" />
          <rect class="skeleton" x="190" y={y - 2} width="14" height="14" rx="5" />
          <rect class="skeleton" x="212" y={y} width="92" height="10" rx="5" />
          {[470, 540, 610].map(x => (
            <rect key={x} class="skeleton" x={x} y={y} width="34" height="10" rx="5" />
          ))}
          <rect class="skeleton" x="690" y={y} width="54" height="10" rx="5" />
        </g>
      ))}
    </svg>
  )
}
