/**
 * What every component may ask for: words, time, data, where the reader is; and the small parts that all screens are made of.
 */
import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { type Say, sayIn } from '../messages/messages.ts'
import type { Look } from '../model/nodes.ts'
import { type Data, noData } from '../state/data.ts'
import type { Route } from '../state/route.ts'
import { type Language, shortId } from './format.ts'
import { Glyph } from './glyph.tsx'

export interface Ui {
  say: Say
  language: Language
  /** Moves on every few seconds. */
  now: number
  data: Data
  route: Route
  retry: () => void
}

const nothing: Ui = {
  say: sayIn('en'),
  language: 'en',
  now: 0,
  data: noData,
  route: { screen: 'overview', query: {} },
  retry: () => {},
}

export const UiContext = createContext<Ui>(nothing)
export const useUi = () => useContext(UiContext)

export function Icon({ name, size = 16 }: { name: string; size?: 12 | 14 | 16 | 20 }) {
  return (
    <svg class={`i${size}`} aria-hidden="true">
      <use href={`#i-${name}`} />
    </svg>
  )
}

export function StateWord({ look, text }: { look: Look; text?: string }) {
  const { say } = useUi()
  return (
    <span class={`st w-${look}`}>
      <Glyph look={look} />
      {text ?? say(`look.${look}`)}
    </span>
  )
}

const tones: Record<Look, string> = {
  bad: 'bad',
  drift: 'warn',
  held: 'warn',
  pend: '',
  prog: 'acc',
  rem: '',
  ok: 'ok',
}
export const toneOf = (look: Look) => tones[look]

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

const art = {
  calm: 'M55 39l8 8 15-17',
  search: 'M50 34h20M75 49l16 16',
  empty: 'M105 32v12M99 38h12',
  away: 'M60 32l12 12M72 32L60 44',
  token: 'M66 46v7',
  two: 'M32 22h34M32 54h34',
} as const

export function Blank(props: {
  kind: keyof typeof art
  title: string
  text?: string
  code?: string
  children?: ComponentChildren
}) {
  const { kind, title, text, code, children } = props
  return (
    <div class="blank">
      <svg class="art" viewBox="0 0 132 76" aria-hidden="true">
        {kind === 'calm' && <circle class="a-f" cx="66" cy="38" r="26" />}
        {kind === 'search' && <circle class="a-l" cx="60" cy="34" r="20" />}
        {kind === 'empty' && (
          <path class="a-d" d="M56 38h30M86 32a8 8 0 0 1 8-8h22a8 8 0 0 1 8 8v12a8 8 0 0 1-8 8H94a8 8 0 0 1-8-8z" />
        )}
        {kind === 'empty' && <rect class="a-f" x="8" y="16" width="48" height="44" rx="8" />}
        {kind === 'away' && (
          <path
            class="a-f"
            d="M18 18h28a8 8 0 0 1 8 8v24a8 8 0 0 1-8 8H18a8 8 0 0 1-8-8V26a8 8 0 0 1 8-8zM86 18h28a8 8 0 0 1 8 8v24a8 8 0 0 1-8 8H86a8 8 0 0 1-8-8V26a8 8 0 0 1 8-8z"
          />
        )}
        {kind === 'two' && <rect class="a-f" x="20" y="10" width="92" height="24" rx="7" />}
        {kind === 'two' && <rect class="a-f" x="20" y="42" width="92" height="24" rx="7" />}
        {kind === 'token' && <path class="a-l" d="M52 34v-8a14 14 0 0 1 28 0v8" />}
        {kind === 'token' && <rect class="a-f" x="42" y="34" width="48" height="32" rx="8" />}
        <path class={kind === 'away' ? 'a-b' : 'a-a'} d={art[kind]} />
      </svg>
      <b>{title}</b>
      {text && <p>{text}</p>}
      {code && <span class="code">{code}</span>}
      {children && <div class="bt">{children}</div>}
    </div>
  )
}

interface SegmentedProps<T extends string> {
  label: string
  value: T
  choices: readonly { value: T; label: ComponentChildren; name?: string; lang?: string }[]
  onChoose: (value: T) => void
}

export function Segmented<T extends string>({ label, value, choices, onChoose }: SegmentedProps<T>) {
  return (
    <fieldset class="seg" aria-label={label}>
      {choices.map(choice => (
        <button
          key={choice.value}
          type="button"
          aria-pressed={choice.value === value}
          aria-label={choice.name}
          lang={choice.lang}
          onClick={() => onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </fieldset>
  )
}

interface SelectProps {
  label: string
  value: string
  choices: readonly { value: string; label: string }[]
  onChoose: (value: string) => void
}

export function Select({ label, value, choices, onChoose }: SelectProps) {
  return (
    <span class="pick">
      <select class="btn" aria-label={label} value={value} onChange={event => onChoose(event.currentTarget.value)}>
        {choices.map(choice => (
          <option key={choice.value} value={choice.value}>
            {choice.label}
          </option>
        ))}
      </select>
      <Icon name="down" size={12} />
    </span>
  )
}

export const providerChoices = (providers: readonly string[]) =>
  providers.map(value => ({ value, label: shortId(value, 18) }))

export function ProviderFilter(props: Pick<SelectProps, 'value' | 'onChoose'> & { providers: readonly string[] }) {
  const { providers, value, onChoose } = props
  const { say } = useUi()
  const any = { value: '', label: say('matrix.anyProvider') }
  return (
    <Select
      label={say('overview.provider')}
      value={value}
      choices={[any, ...providerChoices(providers)]}
      onChoose={onChoose}
    />
  )
}

/** Tells what was typed only when the typing rests. */
export function Filter(props: { label: string; value: string; onChange: (text: string) => void }) {
  const { label, value, onChange } = props
  const [text, setText] = useState(value)
  const told = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  // What comes back is what was told, and must not undo what was typed since; anything else is from elsewhere, and counts.
  useEffect(() => {
    if (value === told.current) return
    told.current = value
    clearTimeout(timer.current)
    setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const typed = (now: string) => {
    setText(now)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      told.current = now
      onChange(now)
    }, 120)
  }
  return (
    <label class="field wide">
      <Icon name="search" size={14} />
      <input
        value={text}
        aria-label={label}
        placeholder={label}
        spellcheck={false}
        onInput={event => typed(event.currentTarget.value)}
      />
    </label>
  )
}

export function CsvButton({ save }: { save: () => void }) {
  const { say } = useUi()
  return (
    <button type="button" class="btn" onClick={save}>
      <Icon name="csv" size={14} />
      {say('app.csv')}
    </button>
  )
}

/** Names and values; what has no value is left out. */
export function Facts({ facts }: { facts: [string, string | number | undefined][] }) {
  return (
    <dl class="kv">
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

/** What it copies is shown where the pointer rests. */
export function CopyButton(props: { text: string; label: string; icon?: string; main?: boolean }) {
  const { text, label, icon = 'copy', main = false } = props
  const { say } = useUi()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <button
      type="button"
      class={`btn sm ${main ? 'prim' : ''}`}
      title={text}
      onClick={() => void copy(text).then(() => setCopied(true))}
    >
      <Icon name={icon} size={14} />
      <span aria-live="polite">{copied ? say('app.copied') : label}</span>
    </button>
  )
}

/** The clipboard is there only on secure origins; a cluster's own address often is none. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}

/** Shown only when it takes long enough to be noticed. */
export function Skeleton({ rows = 6, kind = 'rows' }: { rows?: number; kind?: 'rows' | 'chart' }) {
  const { say } = useUi()
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200)
    return () => clearTimeout(timer)
  }, [])
  if (!late) return null
  if (kind === 'chart')
    return (
      <svg class="chart" viewBox="0 0 440 240" role="img" aria-label={say('loading')}>
        <rect class="sk" x="16" y="18" width="96" height="30" rx="5" />
        <rect class="sk" x="140" y="18" width="96" height="30" rx="5" />
        {Array.from({ length: 20 }, (_, bar) => {
          const height = 40 + ((bar * 37) % 90)
          return <rect key={bar} class="sk" x={18 + bar * 20.5} y={214 - height} width="12" height={height} rx="4" />
        })}
      </svg>
    )
  return (
    <svg class="chart" viewBox={`0 0 760 ${rows * 37 + 14}`} role="img" aria-label={say('loading')}>
      {Array.from({ length: rows }, (_, row) => row * 37 + 18).map((y, row) => (
        <g key={y}>
          <rect class="sk" x="16" y={y} width={96 + ((row * 29) % 44)} height="10" rx="5" />
          <rect class="sk" x="190" y={y - 2} width="14" height="14" rx="5" />
          <rect class="sk" x="212" y={y} width="92" height="10" rx="5" />
          {[470, 540, 610].map(x => (
            <rect key={x} class="sk" x={x} y={y} width="34" height="10" rx="5" />
          ))}
          <rect class="sk" x="690" y={y} width="54" height="10" rx="5" />
        </g>
      ))}
    </svg>
  )
}
