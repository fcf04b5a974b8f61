/**
 * Reads bodies of other parties without trusting their size or shape.
 *
 * Bytes, nesting and elements are counted while a body arrives, so a small body that would become a large value is refused
 * before anything parses it. All bodies of the process share one budget: many large bodies at a time must not take more
 * memory than one. If it is exceeded, the largest body is dropped, so that a small one never waits for a large one.
 */
import { isUtf8 } from 'node:buffer'
import type { Readable } from 'node:stream'
import { nextTurn } from './event-loop.ts'

export interface BodyLimits {
  bytes: number
  /** Commas and opening brackets outside of strings: at least the number of values. Without it, the reader counts them. */
  elements?: number | undefined
}

export class BodyError extends Error {
  readonly kind: 'tooLong' | 'tooComplex' | 'notJson' | 'overBudget' | 'cut'

  constructor(kind: BodyError['kind'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'BodyError'
    this.kind = kind
  }
}

/** A Kubernetes CRD, our deepest document, has less than 50 levels. */
export const maxDepth = 100
/** Parsing this many elements takes a tenth of a second. */
export const maxElements = 300_000
/** Bytes of all bodies that are being read. */
export const maxBodiesBytes = 64 * 1024 * 1024

interface Reading {
  size: number
  refuse(error: Error): void
}

const readings = new Set<Reading>()
let heldBytes = 0

function hold(reading: Reading, bytes: number): void {
  reading.size += bytes
  heldBytes += bytes
  if (heldBytes <= maxBodiesBytes) return
  const largest = [...readings].reduce((a, b) => (b.size > a.size ? b : a))
  largest.refuse(new BodyError('overBudget', 'was dropped: too many large bodies at the same time'))
}

/** Its reader needs a millisecond or more. */
const largeBytes = 64 * 1024

/** Rejects with a BodyError. The caller then destroys the stream, or answers and closes the connection. */
export async function readBody(stream: Readable, limits: BodyLimits): Promise<Buffer> {
  return Buffer.concat(await readChunks(stream, limits))
}

/** As above, for a reader that may not need the whole body. */
export function readChunks(stream: Readable, limits: BodyLimits): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const count = limits.elements === undefined ? () => undefined : elementCounter(limits.elements)
    const reading: Reading = { size: 0, refuse }
    readings.add(reading)

    function settle(): void {
      readings.delete(reading)
      heldBytes -= reading.size
      stream.off('data', onData).off('end', onEnd).off('error', refuse).off('close', onClose)
    }
    function refuse(error: Error): void {
      settle()
      // A stream without a reader would stay paused, or end the process with its next error.
      stream.on('error', () => {})
      chunks.length = 0
      reject(error)
    }
    function onData(chunk: Buffer): void {
      const isTooLong = reading.size + chunk.length > limits.bytes
      const excess = isTooLong ? `is longer than ${limits.bytes} bytes` : count(chunk)
      if (excess !== undefined) {
        refuse(new BodyError(isTooLong ? 'tooLong' : 'tooComplex', excess))
      } else {
        chunks.push(chunk)
        hold(reading, chunk.length)
      }
    }
    function onEnd(): void {
      settle()
      if (reading.size < largeBytes) resolve(chunks)
      // Large bodies that are complete at the same time are parsed in turns.
      else void nextTurn().then(() => resolve(chunks))
    }
    function onClose(): void {
      refuse(new BodyError('cut', 'ended before it was complete'))
    }
    stream.on('data', onData).on('end', onEnd).on('error', refuse).on('close', onClose)
  })
}

const [quote, backslash, comma, openArray, closeArray, openObject, closeObject] = Buffer.from('"\\,[]{}')

/** Counts over chunks and returns what exceeds the limits. */
export function elementCounter(maximum: number): (chunk: Uint8Array) => string | undefined {
  let depth = 0
  let elements = 0
  let inString = false
  let escaped = false
  return chunk => {
    // An index is four times as fast here as an iterator.
    let at = 0
    while (at < chunk.length) {
      const byte = chunk[at++]
      if (inString) {
        if (escaped) escaped = false
        else if (byte === backslash) escaped = true
        else if (byte === quote) inString = false
      } else if (byte === quote) inString = true
      else if (byte === comma) elements++
      else if (byte === openArray || byte === openObject) {
        elements++
        if (++depth > maxDepth) return `is nested deeper than ${maxDepth} levels`
      } else if (byte === closeArray || byte === closeObject) depth--
    }
    return elements > maximum ? `has more than ${maximum} elements` : undefined
  }
}

/** The value of a body that `readBody` returned. Without the check, different bytes would become the same text. */
export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new BodyError('notJson', 'is not JSON: invalid UTF-8')
  try {
    return JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    throw new BodyError('notJson', 'is not JSON', { cause: error })
  }
}
