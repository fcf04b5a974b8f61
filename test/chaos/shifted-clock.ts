/**
 * Preloaded into a part (`--import`): the time of day that it sees is as far off as a file says. Time that passes is counted
 * as before, as on a machine whose clock somebody sets.
 */
import { readFileSync } from 'node:fs'

const given = new URL(import.meta.url).searchParams
const file = `${given.get('dir')}/${given.get('name') ?? process.argv[2]}`
const TrueDate = Date
let [offsetMs, readAt] = [0, Number.NEGATIVE_INFINITY]

function now(): number {
  if (performance.now() - readAt > 50) {
    readAt = performance.now()
    offsetMs = written()
  }
  return TrueDate.now() + offsetMs
}

function written(): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

globalThis.Date = new Proxy(TrueDate, {
  construct: (date, args, self) => Reflect.construct(date, args.length === 0 ? [now()] : args, self),
  apply: () => new TrueDate(now()).toString(),
  get: (date, key) => (key === 'now' ? now : Reflect.get(date, key)),
})
