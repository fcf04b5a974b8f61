/**
 * Times, ages, IDs and addresses as text. Pure: the current time and the language are arguments.
 */
import type { Language, Translate } from '../messages/messages.ts'
import type { ProviderNames } from '../model/providers.ts'

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** 0.3 s, 12 s, 6 min, 3 h, 11 d: two digits are enough for a comparison. */
export function duration(ms: number, t: Translate): string {
  const size = Math.max(0, ms)
  if (size < 9_950) return t('unit.s', { n: (size / second).toFixed(1) })
  if (size < minute) return t('unit.s', { n: Math.round(size / second) })
  if (size < hour) return t('unit.min', { n: Math.floor(size / minute) })
  if (size < 2 * day) return t('unit.h', { n: Math.floor(size / hour) })
  return t('unit.d', { n: Math.floor(size / day) })
}

/** 0.3 s, 24 min 47 s, 3 h 5 min: for figures and axes. */
export function preciseDuration(ms: number, t: Translate): string {
  if (ms < minute)
    return ms % second === 0 || ms >= 9_950 ? t('unit.s', { n: Math.round(ms / second) }) : duration(ms, t)
  const [size, unit, next, part] =
    ms < hour ? ([minute, 'min', second, 's'] as const) : ([hour, 'h', minute, 'min'] as const)
  const rest = Math.floor((ms % size) / next)
  const whole = t(`unit.${unit}`, { n: Math.floor(ms / size) })
  return rest === 0 ? whole : `${whole} ${t(`unit.${part}`, { n: rest })}`
}

/** How long ago, at least one second. */
export function age(at: string, now: number, t: Translate): string {
  const ms = Math.max(second, now - Date.parse(at))
  return ms < 10 * second ? t('unit.s', { n: Math.floor(ms / second) }) : duration(ms, t)
}

export function clock(at: string | number, now: number, language: Language): string {
  const time = new Date(at)
  const today = time.toDateString() === new Date(now).toDateString()
  const sameYear = time.getFullYear() === new Date(now).getFullYear()
  return new Intl.DateTimeFormat(language, {
    ...(today ? {} : { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) }),
    hour: '2-digit',
    minute: '2-digit',
    ...(today ? { second: '2-digit' } : {}),
    hour12: false,
  }).format(time)
}

/** Without the date. */
export function timeOfDay(at: string, language: Language): string {
  const form = { hour: '2-digit', minute: '2-digit', second: '2-digit', hour12: false } as const
  return new Intl.DateTimeFormat(language, form).format(new Date(at))
}

export function exact(at: string, language: Language): string {
  return new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'medium', hour12: false }).format(
    new Date(at),
  )
}

const steps = [
  ...[10, 30].map(n => n * second),
  ...[1, 2, 5, 10, 30].map(n => n * minute),
  ...[1, 3, 6, 12].map(n => n * hour),
  ...[1, 2, 7, 14, 30, 90].map(n => n * day),
]

/** Round times for the ticks of an axis, in the local time zone. */
export function ticksOf(from: number, to: number): number[] {
  const step = steps.find(each => (to - from) / each <= 8) ?? 365 * day
  const shift = new Date(from).getTimezoneOffset() * minute
  const first = Math.ceil((from - shift) / step) * step + shift
  return Array.from({ length: Math.max(0, Math.floor((to - first) / step) + 1) }, (_, index) => first + index * step)
}

export function tickText(time: number, length: number, language: Language): string {
  const form: Intl.DateTimeFormatOptions =
    length > 3 * day
      ? { day: 'numeric', month: 'short' }
      : { hour: '2-digit', minute: '2-digit', ...(length < 10 * minute ? { second: '2-digit' } : {}), hour12: false }
  return new Intl.DateTimeFormat(language, form).format(time)
}

/** The value of an input of type datetime-local. */
export function localInput(at: number): string {
  const pad = (n: number) => String(n).padStart(2, '0')
  const time = new Date(at)
  return `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())}T${pad(time.getHours())}:${pad(time.getMinutes())}`
}

// Shared, because creating one takes longer than rendering a row.
const numbers = { en: new Intl.NumberFormat('en'), ko: new Intl.NumberFormat('ko') }

export function count(n: number, language: Language): string {
  return numbers[language].format(n)
}

/** Shortens a long ID to both ends. */
export function shortId(id: string, ends = 8): string {
  return id.length <= ends + 6 ? id : `${id.slice(0, ends)}…${id.slice(-4)}`
}

/** The name of a provider, or the ID of one that has none. */
export function providerText({ providerId, providerName }: ProviderNames, ends = 18): string {
  return providerName ? ellipsis(providerName, 32) : shortId(providerId, ends)
}

/** The name and the ID of a provider in full. */
export function providerTitle({ providerId, providerName }: ProviderNames): string {
  return providerName ? `${providerName} (${providerId})` : providerId
}

/** A name that several providers have gets the ID. */
export function providerChoices(providers: readonly ProviderNames[]): { value: string; label: string }[] {
  return providers.map(provider => {
    const isUnique = providers.every(one => one === provider || one.providerName !== provider.providerName)
    const id = provider.providerName && !isUnique ? ` (${shortId(provider.providerId)})` : ''
    return { value: provider.providerId, label: `${providerText(provider)}${id}` }
  })
}

/** The name of a subnet, then its network and its ID. */
export function subnetTexts(subnet: { subnetName: string; network: string; subnetId: string }): string[] {
  return [subnet.subnetName, subnet.network, shortId(subnet.subnetId)].filter(Boolean)
}

/** Cuts a long name at its end. */
export function ellipsis(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`
}

/** Guesses what a search text is. */
export function kindOf(text: string): 'ipv4' | 'ipv6' | 'mac' | 'id' | 'name' {
  const trimmed = text.trim()
  if (/^\d{1,3}(\.\d{0,3}){1,3}$/.test(trimmed)) return 'ipv4'
  if (/^[0-9a-f]{2}(:[0-9a-f]{0,2}){1,5}$/i.test(trimmed)) return 'mac'
  if (/^[0-9a-f]{0,4}(:[0-9a-f]{0,4}){1,7}$/i.test(trimmed)) return 'ipv6'
  if (/^[0-9a-f]{8}-[0-9a-f-]*$/i.test(trimmed)) return 'id'
  return 'name'
}
