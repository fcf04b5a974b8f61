/**
 * A Unix socket with one JSON object per line in both directions: QEMU's monitor (QMP) and the guest agent use it.
 */
import { connect } from 'node:net'
import { isJsonObject } from '../../../src/contract/json.ts'

export type Message = Readonly<Record<string, unknown>>

export interface Channel {
  send(message: Message): void
  /** The next message that matches. Messages that nobody waits for are dropped. */
  next(matches: (message: Message) => boolean, within: number): Promise<Message>
  close(): void
}

interface Waiter {
  matches(message: Message): boolean
  resolve(message: Message): void
  reject(error: Error): void
}

export async function openChannel(path: string): Promise<Channel> {
  const socket = connect(path)
  await new Promise((resolve, reject) => {
    socket.once('error', reject)
    socket.once('connect', resolve)
  })
  const waiters = new Set<Waiter>()
  let rest = ''
  socket.setEncoding('utf8')
  socket.on('error', () => {}) // a close follows
  socket.on('close', () => {
    for (const { reject } of waiters) reject(new Error(`${path} was closed`))
  })
  socket.on('data', (chunk: string) => {
    const lines = `${rest}${chunk}`.split('\n')
    rest = lines.pop() ?? ''
    for (const message of lines.map(parse).filter(isJsonObject))
      for (const waiter of waiters) if (waiter.matches(message)) waiter.resolve(message)
  })
  return {
    send: message => void socket.write(`${JSON.stringify(message)}\n`),
    next: (matches, within) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => waiter.reject(new Error(`no answer on ${path} within ${within} ms`)), within)
        const end = <T>(settle: (value: T) => void) => {
          return (value: T) => {
            clearTimeout(timer)
            waiters.delete(waiter)
            settle(value)
          }
        }
        const waiter: Waiter = { matches, resolve: end(resolve), reject: end(reject) }
        waiters.add(waiter)
        if (socket.destroyed) waiter.reject(new Error(`${path} is closed`))
      }),
    close: () => void socket.destroy(),
  }
}

/** A guest agent that was interrupted may send half a line first. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
