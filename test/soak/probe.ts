/**
 * Measures whether the rig is responsive. The simulated clusters and cloud run in one process on the same machine as the
 * components. While that process needs seconds to accept a connection, warnings of the components are not their fault.
 */
import { get } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeApi } from '../../sandbox/kube/server.ts'
import type { FaultWindow } from './verdict.ts'

/** A fifth of the connection timeout of the components. */
const slowMs = 2_000
/** Components may log a warning this long after the cause. */
const recoveryMs = 15_000

export interface Probe {
  readonly faultWindows: readonly FaultWindow[]
  /** The slowest connection since the last call, in milliseconds. */
  slowest(): number
  stop(): Promise<void>
}

export function startProbe(api: KubeApi): Probe {
  const life = new AbortController()
  const faultWindows: FaultWindow[] = []
  let slowest = 0
  const probing = (async () => {
    while (!life.signal.aborted) {
      const startedAt = Date.now()
      const answered = await connects(api)
      const took = Date.now() - startedAt
      slowest = Math.max(slowest, took)
      if (!answered || took > slowMs) faultWindows.push({ from: startedAt, to: Date.now() + recoveryMs })
      await sleep(1_000, undefined, { signal: life.signal }).catch(() => {})
    }
  })()
  return {
    faultWindows,
    slowest() {
      const result = slowest
      slowest = 0
      return result
    },
    async stop() {
      life.abort()
      await probing
    },
  }
}

/** Opens a new connection, as a new client does. */
function connects({ url }: KubeApi): Promise<boolean> {
  return new Promise(resolve => {
    // No credentials are sent: 401 is an answer too.
    get(`${url}/readyz`, { agent: false, rejectUnauthorized: false, timeout: 30_000 }, answer => {
      answer.resume().once('end', () => resolve(true))
    })
      .once('timeout', () => resolve(false))
      .once('error', () => resolve(false))
  })
}
