/**
 * Preloaded into a component (`--import`): shifts its time of day by the offset in a file. The monotonic clock stays correct,
 * as on a machine whose clock someone sets.
 */
import { readFileSync } from 'node:fs'

const parameters = new URL(import.meta.url).searchParams
const file = `${parameters.get('dir')}/${parameters.get('name') ?? process.argv[2]}`
const RealDate = Date
let [offsetMs, readAt] = [0, Number.NEGATIVE_INFINITY]

function now(): number {
  if (performance.now() - readAt > 50) {
    readAt = performance.now()
    offsetMs = readOffset()
  }
  return RealDate.now() + offsetMs
}

function readOffset(): number {
  try {
    return Number(readFileSync(file, 'utf8'))
  } catch {
    return 0
  }
}

globalThis.Date = new Proxy(RealDate, {
  construct: (date, args, self) => Reflect.construct(date, args.length === 0 ? [now()] : args, self),
  apply: () => new RealDate(now()).toString(),
  get: (date, key) => (key === 'now' ? now : Reflect.get(date, key)),
})
