/**
 * Runs commands in a guest through its QEMU guest agent. Needs no network in the guest.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isJsonObject } from '../../../src/contract/json.ts'
import type { RunResult } from '../process.ts'
import type { Channel, Message } from './channel.ts'

export interface GuestRunOptions {
  input?: string
  /** Milliseconds. The command is not killed afterwards. */
  within?: number
}

export interface GuestAgent {
  run(script: string, options?: GuestRunOptions): Promise<RunResult>
}

/** Minutes, because an emulated guest on a busy machine is slow. */
const answerWithin = 5 * 60_000
const environment = ['PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'HOME=/root']

let count = 0

export async function openGuestAgent(channel: Channel, within: number): Promise<GuestAgent> {
  await synchronize(channel, within)
  return guestAgent((execute, args) => askOne(channel, execute, args))
}

/** `send` sends a command to the guest agent and returns what it answers. */
export function guestAgent(send: (execute: string, args: Message) => Promise<Message>): GuestAgent {
  let last: Promise<unknown> = Promise.resolve()
  // Answers have no ID, so there is one question at a time.
  const ask = (execute: string, args: Message) => {
    const answer = last.then(() => send(execute, args))
    last = answer.catch(() => {})
    return answer
  }
  return {
    async run(script, { input, within: limit = 15 * 60_000 } = {}) {
      const { pid } = await ask('guest-exec', {
        path: '/bin/sh',
        arg: ['-c', script],
        env: environment,
        'capture-output': true,
        ...(input !== undefined && { 'input-data': Buffer.from(input).toString('base64') }),
      })
      const until = performance.now() + limit
      for (let pause = 10; performance.now() < until; pause = Math.min(pause * 1.5, 500)) {
        const status = await ask('guest-exec-status', { pid })
        if (status['exited']) return resultOf(status)
        await sleep(pause)
      }
      throw new Error(`still running in the guest after ${limit} ms: ${script.trim().slice(0, 100)}`)
    },
  }
}

/** An agent that has just started may drop or still answer older questions. */
async function synchronize(channel: Channel, within: number): Promise<void> {
  const until = performance.now() + within
  for (;;) {
    const id = ++count
    const answer = channel.next(message => message['return'] === id, 2_000)
    channel.send({ execute: 'guest-sync', arguments: { id } })
    try {
      await answer
      return
    } catch (error) {
      if (performance.now() >= until) throw error
    }
  }
}

async function askOne(channel: Channel, execute: string, args: Message): Promise<Message> {
  const answer = channel.next(message => 'return' in message || 'error' in message, answerWithin)
  channel.send({ execute, arguments: args })
  const { return: result, error } = await answer
  if (!isJsonObject(result)) throw new Error(`${execute} failed in the guest: ${JSON.stringify(error ?? result)}`)
  return result
}

function resultOf(status: Message): RunResult {
  const text = (key: string) => Buffer.from(String(status[key] ?? ''), 'base64').toString()
  return {
    code: Number(status['exitcode'] ?? 128 + Number(status['signal'] ?? 0)),
    stdout: text('out-data'),
    stderr: text('err-data'),
  }
}
