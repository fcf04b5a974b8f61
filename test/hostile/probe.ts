/**
 * Measures the slowest answer of /healthz, in a thread of its own: the thread that sends hostile bodies is busy.
 *
 * On a busy machine every process waits for a processor, and that says nothing about ours. So two times are subtracted: how
 * long the kernel let the main thread of the process wait in its run queue, and how long an idle server in a process without
 * a limit took to answer meanwhile. What is left is the time in which our process computed, waited for a disk, or was held
 * up for memory.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface Probed {
  name: string
  url: string
  pid: number
}

export interface Sample {
  name: string
  ms: number
}

export interface Probe {
  stop(): Promise<void>
}

const everyMs = 50
/** Older samples of the reference are forgotten. */
const keptMs = 60_000

/** Reports every sample, also that of an answer that is missing when the probe stops. */
export function startProbe(probed: readonly Probed[], onSample: (sample: Sample) => void): Probe {
  const worker = new Worker(new URL(import.meta.url), { workerData: probed })
  const stopped = Promise.withResolvers<void>()
  worker.on('message', (message: Sample | 'stopped') => (message === 'stopped' ? stopped.resolve() : onSample(message)))
  worker.once('error', stopped.reject)
  return {
    async stop() {
      worker.postMessage('stop')
      await stopped.promise
      await worker.terminate()
    },
  }
}

if (!isMainThread) {
  const open = new Map<string, () => void>()
  const reference = await startReference()
  for (const { name, url, pid } of workerData as Probed[])
    void loop(`${url}/healthz`, name, () => {
      const [started, waited] = [performance.now(), waitedMs(pid)]
      return () => {
        const ms = performance.now() - started - (waitedMs(pid) - waited) - reference.slowestSince(started)
        parentPort?.postMessage({ name, ms: Math.max(0, ms) } satisfies Sample)
      }
    })
  parentPort?.once('message', () => {
    for (const measure of open.values()) measure()
    reference.stop()
    parentPort?.postMessage('stopped')
  })

  async function loop(url: string, name: string, start: () => () => void): Promise<void> {
    for (;;) {
      const measure = start()
      open.set(name, measure)
      // A refused connection is a process that ended: the caller sees that itself.
      await new Promise<void>(resolve => {
        request(url, response => response.resume().once('close', resolve))
          .once('error', () => resolve())
          .end()
      })
      measure()
      open.delete(name)
      await sleep(everyMs)
    }
  }

  /** A server that does nothing else. */
  async function startReference() {
    const program = `
      const server = require('node:http').createServer((_, response) => response.end())
      server.listen(0, '127.0.0.1', () => console.log(server.address().port))`
    const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] })
    const port = await new Promise<string>(resolve => createInterface({ input: child.stdout }).once('line', resolve))
    let samples: { startedAt: number; endedAt: number }[] = []
    const ms = ({ startedAt, endedAt }: (typeof samples)[number]) => Math.min(endedAt, performance.now()) - startedAt
    void loop(`http://127.0.0.1:${port}`, 'reference', () => {
      const sample = { startedAt: performance.now(), endedAt: Number.POSITIVE_INFINITY }
      samples = [...samples.filter(({ endedAt }) => endedAt > performance.now() - keptMs), sample]
      return () => {
        sample.endedAt = performance.now()
      }
    })
    return {
      slowestSince: (since: number) => Math.max(0, ...samples.filter(({ endedAt }) => endedAt > since).map(ms)),
      stop: () => child.kill(),
    }
  }

  /** How long the main thread of a process has waited for a processor so far. */
  function waitedMs(pid: number): number {
    try {
      return Number(readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
    } catch {
      return 0
    }
  }
}
