/** Starts stations, and talks to them. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from './station-protocol.ts'

export interface Station {
  request<T = object>(command: Command): Promise<T & { error?: string }>
  stop(): Promise<void>
}

const program = join(import.meta.dirname, 'station.ts')

export function startStation(namespace: string): Station {
  const child = spawn('nsenter', [`--net=/run/netns/${namespace}`, process.execPath, program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const waiting = new Map<number, (reply: never) => void>()
  let count = 0
  let ended = false
  createInterface(child.stdout).on('line', line => {
    const { id, reply } = JSON.parse(line) as { id: number; reply: never }
    waiting.get(id)?.(reply)
    waiting.delete(id)
  })
  child.stdin.on('error', () => {})
  child.once('close', () => {
    ended = true
    for (const answer of waiting.values()) answer({ error: 'the station ended' } as never)
  })
  return {
    request(command) {
      const id = ++count
      return new Promise(resolve => {
        if (ended) return resolve({ error: 'the station ended' } as never)
        waiting.set(id, resolve as (reply: never) => void)
        child.stdin.write(`${JSON.stringify({ id, command })}\n`)
      })
    },
    async stop() {
      if (ended) return
      const closed = once(child, 'close')
      child.kill('SIGKILL')
      await closed
    },
  }
}
