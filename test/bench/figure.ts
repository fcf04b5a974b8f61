/**
 * One measured figure, and what a bench is.
 */
export interface Figure {
  name: string
  value: number
  unit: string
  /** Measured in the same run, on the same machine, under the same load. */
  reference: number
  /** What the reference is. */
  against: string
  ratio: number
  goal?: { atMost: number }
}

export type Bench = (report: (figure: Figure) => void) => Promise<void>

export function figure(
  name: string,
  value: number,
  unit: string,
  { against, reference }: Pick<Figure, 'against' | 'reference'>,
  goal?: Figure['goal'],
): Figure {
  return { name, value, unit, reference, ratio: value / reference, against, ...(goal ? { goal } : {}) }
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = Number.NaN, high = Number.NaN] = [sorted[Math.ceil(sorted.length / 2) - 1], sorted[middle]]
  return (low + high) / 2
}
