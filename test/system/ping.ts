/**
 * A running ping through one NIC of a node. It counts lost packets.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { systemPath } from '../../sandbox/exec.ts'

export interface Ping {
  /** Stops the ping and returns the number of sent and received packets. */
  stop(): Promise<{ sent: number; received: number }>
}

/** From the address of the NIC to its gateway, every 50 ms. Resolves with the first answer. */
export async function startPing(netns: string, from: string, to: string): Promise<Ping> {
  const child = spawn('nsenter', [`--net=/run/netns/${netns}`, 'ping', '-i', '0.05', '-W', '2', '-I', from, to], {
    env: { PATH: systemPath, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  const answered = Promise.withResolvers<void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (/icmp_seq=1 /.test(output)) answered.resolve()
  })
  const ended = once(child, 'close')
  void ended.then(() => answered.reject(new Error(`ping from ${from} to ${to} exited: ${output}`)))
  await answered.promise
  return {
    async stop() {
      child.kill('SIGINT')
      await ended
      const [, sent, received] = /(\d+) packets transmitted, (\d+) received/.exec(output) ?? []
      return { sent: Number(sent), received: Number(received) }
    },
  }
}
