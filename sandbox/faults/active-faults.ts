/**
 * Starts and stops faults by name and records which are active. A fault with a duration stops when it has elapsed.
 */
import { messageOf } from '../../src/runtime/errors.ts'
import type { Log } from '../../src/telemetry/log.ts'
import { catalogue, type FaultName, faultNames, isFaultName } from './catalogue.ts'

export interface FaultTarget {
  /** For faults of nodes; all nodes when absent. */
  node?: string | undefined
}

/** Starts a fault and returns the function that stops it. */
export type FaultInjector = (target: FaultTarget) => Promise<() => Promise<void>>
export type FaultInjectors = Record<FaultName, FaultInjector>

export interface FaultInput extends FaultTarget {
  name: string
  forMs?: number | undefined
}

export interface ActiveFault {
  name: FaultName
  effect: string
  node?: string
  since: string
  until?: string
}

export interface FaultControl {
  /** Resolves when the fault is active; a one-shot fault has happened by then. */
  start(input: FaultInput): Promise<void>
  /** Stops one fault, or all. Resolves when it is over. */
  stop(name?: string): Promise<void>
  active(): ActiveFault[]
}

interface Entry extends ActiveFault {
  stop: () => Promise<void>
  timer?: NodeJS.Timeout
}

export function createFaultControl(injectors: FaultInjectors, nodes: () => Iterable<string>, log: Log): FaultControl {
  const entries = new Map<FaultName, Entry>()
  let queue: Promise<unknown> = Promise.resolve()

  /** One at a time: two faults may change the same mount or process. */
  function enqueue<T>(task: () => Promise<T>): Promise<T> {
    const done = queue.then(task)
    queue = done.catch(() => {})
    return done
  }

  async function startFault(name: FaultName, { node, forMs }: FaultInput): Promise<void> {
    await stopFault(name)
    const { component, effect, oneShot } = catalogue[name]
    const stop = await injectors[name]({ node })
    log.info('fault started', { fault: name, node })
    if (oneShot) return stop()
    const now = Date.now()
    entries.set(name, {
      name,
      effect: `${component} ${effect}`,
      ...(node && { node }),
      since: new Date(now).toISOString(),
      ...(forMs && { until: new Date(now + forMs).toISOString(), timer: stopAfter(name, forMs) }),
      stop,
    })
  }

  function stopAfter(name: FaultName, ms: number): NodeJS.Timeout {
    const stop = () =>
      enqueue(() => stopFault(name)).catch(error => log.error('cannot stop fault', { fault: name, error }))
    return setTimeout(stop, ms).unref()
  }

  async function stopFault(name: FaultName): Promise<void> {
    const entry = entries.get(name)
    if (!entry) return
    clearTimeout(entry.timer)
    await entry.stop()
    entries.delete(name)
    log.info('fault stopped', { fault: name })
  }

  return {
    async start(input) {
      const name = parseFaultName(input.name)
      const { oneShot, perNode } = catalogue[name]
      if (oneShot && input.forMs) throw new Error(`${name} happens once and takes no duration; leave out --for`)
      if (input.node !== undefined) {
        if (!perNode) throw new Error(`${name} does not affect single nodes; leave out --node`)
        const known = [...nodes()]
        if (!known.includes(input.node))
          throw new Error(`node ${input.node} not found; the nodes are ${known.join(', ')}`)
      }
      await enqueue(() => startFault(name, input))
    },
    stop: name =>
      enqueue(async () => {
        if (name !== undefined) return stopFault(parseFaultName(name))
        const failures: string[] = []
        for (const each of [...entries.keys()].reverse())
          await stopFault(each).catch(error => failures.push(`${each}: ${messageOf(error)}`))
        if (failures.length > 0) throw new Error(`cannot stop every fault: ${failures.join('; ')}`)
      }),
    active: () => [...entries.values()].map(({ stop: _, timer: __, ...fault }) => fault),
  }
}

function parseFaultName(text: string): FaultName {
  if (isFaultName(text)) return text
  const similar = faultNames.filter(name => text.split('-').some(part => part !== '' && name.split('-').includes(part)))
  const hint =
    similar.length > 0 ? `did you mean ${similar.slice(0, 8).join(', ')}?` : '"multinic sandbox fault" lists all faults'
  throw new Error(`fault "${text}" not found; ${hint}`)
}
