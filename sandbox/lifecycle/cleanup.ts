/**
 * Cleanup steps of resources that are started one after another, run in reverse order.
 */
import type { Log } from '../../src/telemetry/log.ts'

export interface Cleanup {
  add(step: () => Promise<void>): void
  /** Awaits a resource and adds its cleanup step. */
  track<T>(starting: Promise<T>, stop: (resource: T) => Promise<void>): Promise<T>
  /** Runs all steps, even if one fails. */
  run(): Promise<void>
}

export function createCleanup(log: Log): Cleanup {
  const steps: (() => Promise<void>)[] = []
  return {
    add: step => void steps.push(step),
    async track(starting, stop) {
      const resource = await starting
      steps.push(() => stop(resource))
      return resource
    },
    async run() {
      for (const step of steps.reverse().splice(0))
        await step().catch(error => log.warn('cleanup step failed', { error }))
    },
  }
}
