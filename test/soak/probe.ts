/**
 * Whether the rig itself keeps up. The clusters and the cloud live in one process on the same machine as the parts: while it
 * needs seconds to take a new connection, complaints of the parts tell of the rig, not of them.
 */
import { get } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeApi } from '../../sandbox/kube/server.ts'
import type { Shadow } from './verdict.ts'

/** A fifth of the time after which a part gives a connection up. */
const slowMs = 2_000
/** Parts wait so long before they complain. */
const echoMs = 15_000

export interface Probe {
  readonly shadows: readonly Shadow[]
  /** The longest that it took since the last time. */
  slowest(): number
  stop(): Promise<void>
}

export function startProbe(api: KubeApi): Probe {
  const life = new AbortController()
  const shadows: Shadow[] = []
  let slowest = 0
  const looking = (async () => {
    while (!life.signal.aborted) {
      const began = Date.now()
      const answered = await connected(api)
      const took = Date.now() - began
      slowest = Math.max(slowest, took)
      if (!answered || took > slowMs) shadows.push({ from: began, to: Date.now() + echoMs })
      await sleep(1_000, undefined, { signal: life.signal }).catch(() => {})
    }
  })()
  return {
    shadows,
    slowest() {
      const most = slowest
      slowest = 0
      return most
    },
    async stop() {
      life.abort()
      await looking
    },
  }
}

/** By a connection of its own, as whoever comes new. */
function connected({ url }: KubeApi): Promise<boolean> {
  return new Promise(resolve => {
    // Nothing is told and nothing is asked for: 401 is an answer.
    get(`${url}/readyz`, { agent: false, rejectUnauthorized: false, timeout: 30_000 }, answer => {
      answer.resume().once('end', () => resolve(true))
    })
      .once('timeout', () => resolve(false))
      .once('error', () => resolve(false))
  })
}
