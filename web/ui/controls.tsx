/**
 * Controls that the screens share: choices, filters, and buttons that copy or download.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { ProviderNames } from '../model/providers.ts'
import { useUi } from './context.ts'
import { providerChoices } from './format.ts'
import { Icon } from './panel.tsx'

interface SegmentedProps<T extends string> {
  label: string
  value: T
  choices: readonly { value: T; label: ComponentChildren; name?: string; lang?: string }[]
  onChoose: (value: T) => void
}

export function Segmented<T extends string>({ label, value, choices, onChoose }: SegmentedProps<T>) {
  return (
    <fieldset class="segmented" aria-label={label}>
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
    <span class="select">
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

export function ProviderFilter(
  props: Pick<SelectProps, 'value' | 'onChoose'> & { providers: readonly ProviderNames[] },
) {
  const { providers, value, onChoose } = props
  const { t } = useUi()
  const any = { value: '', label: t('matrix.anyProvider') }
  return (
    <Select
      label={t('overview.provider')}
      value={value}
      choices={[any, ...providerChoices(providers)]}
      onChoose={onChoose}
    />
  )
}

/** Reports the text 120 ms after the last keystroke. */
export function FilterInput(props: { label: string; value: string; onChange: (text: string) => void }) {
  const { label, value, onChange } = props
  const [text, setText] = useState(value)
  const reported = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  // The reported value comes back as a property and must not undo later keystrokes. Any other value comes from outside.
  useEffect(() => {
    if (value === reported.current) return
    reported.current = value
    clearTimeout(timer.current)
    setText(value)
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const onInput = (next: string) => {
    setText(next)
    clearTimeout(timer.current)
    timer.current = setTimeout(() => {
      reported.current = next
      onChange(next)
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
        onInput={event => onInput(event.currentTarget.value)}
      />
    </label>
  )
}

export function CsvButton({ save }: { save: () => void }) {
  const { t } = useUi()
  return (
    <button type="button" class="btn" onClick={save}>
      <Icon name="csv" size={14} />
      {t('app.csv')}
    </button>
  )
}

/** The tooltip shows the text that the button copies. */
export function CopyButton(props: { text: string; label: string; icon?: string; main?: boolean }) {
  const { text, label, icon = 'copy', main = false } = props
  const { t } = useUi()
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 1_500)
    return () => clearTimeout(timer)
  }, [copied])
  return (
    <button
      type="button"
      class={`btn small ${main ? 'primary' : ''}`}
      title={text}
      onClick={() => void copy(text).then(() => setCopied(true))}
    >
      <Icon name={icon} size={14} />
      <span aria-live="polite">{copied ? t('app.copied') : label}</span>
    </button>
  )
}

/** Browsers offer the clipboard on secure origins only; the address of a cluster often is not one. */
async function copy(text: string): Promise<void> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text)
  const area = document.createElement('textarea')
  area.value = text
  document.body.append(area)
  area.select()
  document.execCommand('copy')
  area.remove()
}
