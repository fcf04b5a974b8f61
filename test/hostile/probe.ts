/**
 * Measures the slowest answer of /healthz, in a thread of its own: the thread that sends hostile bodies is busy.
 *
 * Only the time counts that the process itself used meanwhile: on a busy machine, every process waits for a processor.
 */
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
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
  for (const one of workerData as Probed[]) void probe(one)
  parentPort?.once('message', () => {
    for (const measure of open.values()) measure()
    parentPort?.postMessage('stopped')
  })

  async function probe({ name, url, pid }: Probed): Promise<void> {
    for (;;) {
      const [started, used] = [performance.now(), processorMs(pid)]
      const measure = () => {
        const ms = Math.min(performance.now() - started, processorMs(pid) - used)
        parentPort?.postMessage({ name, ms } satisfies Sample)
      }
      open.set(name, measure)
      // A refused connection is a process that ended: the caller sees that itself.
      await new Promise<void>(resolve => {
        request(`${url}/healthz`, response => response.resume().once('close', resolve))
          .once('error', () => resolve())
          .end()
      })
      measure()
      open.delete(name)
      await sleep(everyMs)
    }
  }

  /** Processor time of a process so far. The kernel counts in hundredths of a second. */
  function processorMs(pid: number): number {
    try {
      const [user = 0, system = 0] = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ')
        .slice(11, 13)
        .map(Number)
      return 10 * (user + system)
    } catch {
      return 0
    }
  }
}
