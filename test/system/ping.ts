/**
 * A running ping through one NIC of a node: whoever lets a packet go is found by it.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { systemPath } from '../../sandbox/exec.ts'

export interface Ping {
  /** Ends it: how many were sent and how many came back. */
  stop(): Promise<{ sent: number; received: number }>
}

/** From the address of the NIC to its gateway, twenty times a second. Resolves with the first answer. */
export async function startPing(netns: string, from: string, to: string): Promise<Ping> {
  const child = spawn('nsenter', [`--net=/run/netns/${netns}`, 'ping', '-i', '0.05', '-W', '2', '-I', from, to], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let said = ''
  const answered = Promise.withResolvers<void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (/icmp_seq=1 /.test(said)) answered.resolve()
  })
  const ended = once(child, 'close')
  void ended.then(() => answered.reject(new Error(`the ping from ${from} to ${to} ended: ${said}`)))
  await answered.promise
  return {
    async stop() {
      child.kill('SIGINT')
      await ended
      const [, sent, received] = /(\d+) packets transmitted, (\d+) received/.exec(said) ?? []
      return { sent: Number(sent), received: Number(received) }
    },
  }
}
