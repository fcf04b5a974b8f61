/**
 * Durations in Go's format (`20s`, `1h30m`, `500ms`). Free of dependencies.
 */
const units = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }

/** JSON Schema pattern. The value must also be greater than zero. */
export const durationPattern = '^([0-9]+(\\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$'

/** Milliseconds; undefined when the text is not a positive duration. */
export function parseDuration(text: string): number | undefined {
  if (!new RegExp(durationPattern).test(text)) return undefined
  let ms = 0
  for (const [, amount, name] of text.matchAll(/([0-9.]+)(ns|us|µs|ms|s|m|h)/g)) {
    ms += Number(amount) * units[name as keyof typeof units]
  }
  return ms > 0 && Number.isFinite(ms) ? ms : undefined
}

/** `8130000` → `2h15m30s`; milliseconds only below one second. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`
  const seconds = Math.floor(ms / 1_000)
  const [h, m, s] = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  if (h > 0) return `${h}h${m}m${s}s`
  return m > 0 ? `${m}m${s}s` : `${s}s`
}
