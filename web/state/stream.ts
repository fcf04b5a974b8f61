/**
 * Reads server-sent events from the body of a fetch: unlike EventSource, a fetch shows the status of a failure.
 */
export interface StreamEvent {
  id: string
  event: string
  data: string
}

export async function* streamEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    while (true) {
      const { value, done } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const event = parseEvent(block)
        if (event) yield event
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Undefined for a keep-alive comment. */
export function parseEvent(block: string): StreamEvent | undefined {
  const lines = block.split('\n').filter(line => line !== '' && !line.startsWith(':'))
  const fieldOf = (field: string) =>
    lines
      .filter(line => line.startsWith(`${field}:`))
      .map(line => line.slice(field.length + 1).replace(/^ /, ''))
      .join('\n')
  return lines.some(line => line.startsWith('data:'))
    ? { id: fieldOf('id'), event: fieldOf('event'), data: fieldOf('data') }
    : undefined
}
