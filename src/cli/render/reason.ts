/**
 * A reason in full: its name, what it means and what to do, in the words of the catalogue, and what was said with it. Pure.
 */
import { reasonText } from '../../contract/reasons/catalogue.ts'
import type { Paint } from './paint.ts'

export interface Told {
  reason?: string | undefined
  message?: string | undefined
  remedy?: string | undefined
}

export function reasonLines({ reason, message, remedy }: Told, paint: Paint): string[] {
  const text = reason === undefined ? undefined : reasonText(reason)
  const todo = remedy ?? text?.remedy
  const said = message?.split('\n') ?? []
  const head = [reason, text?.meaning].filter(Boolean).join(': ')
  return [
    ...(head ? [head] : []),
    ...said.map(line => paint('dim', line)),
    ...(todo ? [`${paint('strong', '→')} ${todo}`] : []),
  ]
}

/** `2026-01-31T10:00:00Z`, now two minutes later → `2m ago`. */
export function ago(time: string, now: Date): string {
  const seconds = Math.round((now.getTime() - Date.parse(time)) / 1_000)
  if (Number.isNaN(seconds)) return time
  const [amount, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return seconds < 1 ? 'now' : `${Math.floor(seconds / amount)}${unit} ago`
}

const units: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
]
