/**
 * Server-sent events: the type of each event, and its data parsed as JSON.
 */
import { setTimeout as sleep } from 'node:timers/promises'

export interface ServerEvent {
  /** Empty if the server names none. */
  type: string
  data: unknown
  /** Of the data, in characters. */
  length: number
}

const maxEventBytes = 64 * 1024
/** Above this rate, reading waits: a server must not keep the process busy. */
const maxBytesPerSecond = 2 * 1024 * 1024

interface Pace {
  now: () => number
  pause: (ms: number) => Promise<unknown>
}

/** Comments, such as heartbeats, and other fields are skipped. An event has one line of data. */
export async function* eventsIn(
  stream: AsyncIterable<Buffer>,
  { now, pause }: Pace = { now: () => performance.now(), pause: sleep },
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  let type = ''
  let bytes = 0
  let since = now()
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxEventBytes) throw new Error(`an event is longer than ${maxEventBytes} bytes`)
    for (const line of lines) {
      if (line.startsWith('event:')) type = line.slice('event:'.length).trim()
      if (!line.startsWith('data:')) continue
      const data = line.slice('data:'.length)
      yield { type, data: JSON.parse(data), length: data.length }
      type = ''
    }
    bytes += chunk.length
    const leftMs = since + 1_000 - now()
    if (leftMs > 0 && bytes < maxBytesPerSecond) continue
    if (leftMs > 0) await pause(leftMs)
    bytes = 0
    since = now()
  }
}
