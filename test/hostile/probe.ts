/**
 * Measures what holds up the answers of /healthz or another path, in a thread of its own: the thread that sends hostile bodies is busy.
 *
 * On a busy machine every process waits for a processor, and that says nothing about ours. So an answer has two times. One is
 * the processor time of the main thread until the answer: a hostile body costs it, and the load of the machine does not add
 * to it. The other is the rest, in which the main thread waited for a disk, for memory or for another thread, without the time
 * in the kernel's run queue and without what an idle server in another process took meanwhile. The load does add to the rest:
 * threads that collect garbage wait for a processor too.
 */
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

export interface Probed {
  name: string
  url: string
  pid: number
  /** By default /healthz. */
  path?: string
  /** The pause between two requests in ms, by default 50. */
  everyMs?: number
}

export interface Sample {
  name: string
  computedMs: number
  heldUpMs: number
}

/** What a hostile answer or request may cost. The second limit finds a main thread that is stuck, under any load. */
export const sampleLimits = { computedMs: 1_000, heldUpMs: 10_000 }

export interface Probe {
  stop(): Promise<void>
}

/** Older samples of the reference are forgotten. */
const keptMs = 60_000

interface Looped {
  name: string
  url: string
  everyMs?: number | undefined
}

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
  for (const { name, url, pid, path = '/healthz', everyMs } of workerData as Probed[])
    void loop({ name, url: `${url}${path}`, everyMs }, () => {
      const startedAt = performance.now()
      const before = mainThreadOf(pid)
      return () => {
        const now = mainThreadOf(pid)
        // The process has ended: the caller sees that itself.
        if (!before || !now) return
        const computedMs = now.computedMs - before.computedMs
        const expectedMs = computedMs + now.queuedMs - before.queuedMs + reference.slowestSince(startedAt)
        const heldUpMs = Math.max(0, performance.now() - startedAt - expectedMs)
        parentPort?.postMessage({ name, computedMs, heldUpMs } satisfies Sample)
      }
    })
  parentPort?.once('message', () => {
    for (const measure of open.values()) measure()
    reference.stop()
    parentPort?.postMessage('stopped')
  })

  async function loop({ name, url, everyMs = 50 }: Looped, start: () => () => void): Promise<void> {
    // A new connection for each answer would wait for two turns of the event loop, and so for two hostile bodies.
    const agent = new Agent({ keepAlive: true })
    for (;;) {
      const measure = start()
      open.set(name, measure)
      // A refused connection is a process that ended: the caller sees that itself.
      await new Promise<void>(resolve => {
        request(url, { agent }, response => response.resume().once('close', resolve))
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
    void loop({ name: 'reference', url: `http://127.0.0.1:${port}` }, () => {
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

  /** Processor time of the main thread of a process, and how long it waited in the run queue. Undefined after its end. */
  function mainThreadOf(pid: number): { computedMs: number; queuedMs: number } | undefined {
    try {
      const [computed, queued] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ')
      return { computedMs: Number(computed) / 1e6, queuedMs: Number(queued) / 1e6 }
    } catch {
      return undefined
    }
  }
}
