/**
 * A reason with its meaning and remedy from the catalogue, and the message. Pure.
 */

import { reasonText } from '../../contract/reasons/catalogue.ts'
import type { RenderOptions } from '../output.ts'
import type { Explained } from '../status.ts'

export function reasonLines(
  { reason, message, remedy }: Explained,
  { paint, language }: Pick<RenderOptions, 'paint' | 'language'>,
): string[] {
  const text = reason === undefined ? undefined : reasonText(reason, language)
  // The server may be newer than this program and know a better remedy, in English.
  const action = language === 'en' ? (remedy ?? text?.remedy) : (text?.remedy ?? remedy)
  const messageLines = message?.split('\n') ?? []
  const head = [reason, text?.meaning].filter(Boolean).join(': ')
  return [
    ...(head ? [head] : []),
    ...messageLines.map(line => paint('dim', line)),
    ...(action ? [`${paint('strong', '→')} ${action}`] : []),
  ]
}

/** `Reason: message` in one line. */
export function because({ reason = '', message = '' }: Pick<Explained, 'reason' | 'message'> = {}): string {
  return `${reason}${message && `: ${message}`}`
}

/** `2026-01-31T10:00:00Z`, now two minutes later → `2m ago`. */
export function ago(time: string, { now, texts }: Pick<RenderOptions, 'now' | 'texts'>): string {
  const seconds = Math.round((now.getTime() - Date.parse(time)) / 1_000)
  if (Number.isNaN(seconds)) return time
  const [amount, unit] = units.find(([size]) => seconds >= size) ?? [1, 's']
  return seconds < 1 ? texts.now : texts.ago(Math.floor(seconds / amount), unit)
}

const units: readonly (readonly [number, string])[] = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
]
