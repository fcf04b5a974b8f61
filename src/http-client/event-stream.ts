/**
 * Server-sent events: the data of each event, parsed as JSON.
 */

const maxEventBytes = 64 * 1024

/** Comments, such as heartbeats, and other fields are skipped. */
export async function* eventsIn(stream: AsyncIterable<Buffer>): AsyncGenerator<unknown> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const chunk of stream) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > maxEventBytes) throw new Error(`an event is longer than ${maxEventBytes} bytes`)
    for (const line of lines) if (line.startsWith('data:')) yield JSON.parse(line.slice('data:'.length))
  }
}
