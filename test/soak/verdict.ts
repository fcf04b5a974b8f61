/**
 * What the samples and logs of a soak say: memory that is flat, queues that do not grow, errors that do not repeat. Pure.
 */
import { median } from '../bench/figure.ts'

export interface Sample {
  /** Seconds since the churn began. */
  at: number
  /** `operator.mib`, `controller.queue_depth`, `biz.jobs` */
  values: Record<string, number>
}

export interface Verdict {
  check: string
  met: boolean
  /** What was found, for a person. */
  words: string
  facts?: Record<string, number>
}

/** How far above the middle third the last may be: a share of it, or so much where that is more. */
export interface Bound {
  share: number
  slack: number
}

/** The first third is left out: caches fill, and a part that was killed is young. */
export function judgeGrowth(
  check: string,
  samples: readonly Sample[],
  name: string,
  bound: Bound,
  unit: string,
): Verdict {
  const known = samples.filter(({ values }) => values[name] !== undefined)
  const third = Math.floor(known.length / 3)
  if (third < 1) return { check, met: false, words: `${known.length} samples are too few to tell` }
  const late = known.slice(-2 * third).map(({ at, values }) => ({ at, value: values[name] ?? 0 }))
  const [middle, last] = [mean(late.slice(0, third)), mean(late.slice(third))]
  const room = Math.max(bound.share * middle, bound.slack)
  const trend = slopeOf(late) * ((late.at(-1)?.at ?? 0) - (late[0]?.at ?? 0))
  const words = `${shown(middle)} ${unit} in the middle third, ${shown(last)} in the last; trend ${shown(trend)} over both`
  const tooMuch = last - middle > room ? `more than ${shown(room)} above` : undefined
  // A steady rise makes the means differ by half of what it comes to.
  const rising = trend > 2 * room ? `a steady rise of more than ${shown(2 * room)}` : undefined
  const wrong = tooMuch ?? rising
  return {
    check,
    met: wrong === undefined,
    words: wrong ? `${words}: ${wrong}` : words,
    facts: { middle: round(middle), last: round(last), trend: round(trend), room: round(room) },
  }
}

export interface Point {
  at: number
  value: number
}

/** The median of the slopes between all pairs (Theil and Sen): single peaks do not tilt it. */
export function slopeOf(points: readonly Point[]): number {
  const slopes = points.flatMap((one, index) =>
    points
      .slice(index + 1)
      .flatMap(other => (other.at > one.at ? [(other.value - one.value) / (other.at - one.at)] : [])),
  )
  return slopes.length === 0 ? 0 : median(slopes)
}

export interface Complaint {
  part: string
  /** Its constant message, with the reason where it names one. */
  message: string
  /** Milliseconds since 1970. */
  time: number
}

/** A time in which parts may complain: a fault, and what follows from it. */
export interface Shadow {
  from: number
  to: number
}

/** The share of a time that lies in no shadow. */
export function openShare(shadows: readonly Shadow[], from: number, to: number): number {
  let [covered, until] = [0, from]
  for (const shadow of shadows.toSorted((a, b) => a.from - b.from)) {
    const [start, end] = [Math.max(shadow.from, until), Math.min(shadow.to, to)]
    if (end <= start) continue
    covered += end - start
    until = end
  }
  return 1 - covered / (to - from)
}

export interface Counted {
  part: string
  message: string
  times: number
  /** How many of them while nothing was broken. */
  strays: number
}

export function countComplaints(complaints: readonly Complaint[], shadows: readonly Shadow[]): Counted[] {
  const inShadow = (time: number) => shadows.some(({ from, to }) => time >= from && time <= to)
  return [...Map.groupBy(complaints, ({ part, message }) => `${part} ${message}`).values()]
    .flatMap(all => all.slice(0, 1).map(({ part, message }) => ({ part, message, all })))
    .map(({ part, message, all }) => ({
      ...{ part, message, times: all.length },
      strays: all.filter(({ time }) => !inShadow(time)).length,
    }))
    .toSorted((a, b) => b.strays - a.strays || b.times - a.times)
}

/** Whatever a part says twice while nothing is broken. */
export function judgeComplaints(counted: readonly Counted[]): Verdict {
  const sum = (of: 'times' | 'strays') => counted.reduce((total, each) => total + each[of], 0)
  const repeated = counted.filter(({ strays }) => strays > 1)
  const told = `${sum('times')} complaints, ${sum('strays')} of them while nothing was broken`
  return {
    check: 'no error that repeats',
    met: repeated.length === 0,
    words: [told, ...repeated.map(({ part, message, strays }) => `${strays} times "${part}: ${message}"`)].join('; '),
    facts: { complaints: sum('times'), strays: sum('strays'), repeated: repeated.length },
  }
}

/** A line of a part's log, when it complains. What is no line of a log is a last word. */
export function complaintOf(part: string, line: string, now: number): Complaint | undefined {
  if (line.trim() === '') return undefined
  try {
    const { level, message, reason, time } = JSON.parse(line) as Record<string, unknown>
    if (level !== 'warn' && level !== 'error') return undefined
    const said = typeof reason === 'string' ? `${message} (${reason})` : `${message}`
    return { part, message: said, time: Date.parse(`${time}`) || now }
  } catch {
    return { part, message: line.slice(0, 200), time: now }
  }
}

export function tableOf(verdicts: readonly Verdict[]): string {
  const width = Math.max(...verdicts.map(({ check }) => check.length))
  return verdicts
    .map(({ check, met, words }) => `${met ? 'ok    ' : 'FAILED'}  ${check.padEnd(width)}  ${words}`)
    .join('\n')
}

function mean(points: readonly Point[]): number {
  return points.reduce((sum, { value }) => sum + value, 0) / points.length
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function shown(value: number): string {
  return String(Math.abs(value) >= 100 ? Math.round(value) : Math.round(value * 10) / 10)
}
