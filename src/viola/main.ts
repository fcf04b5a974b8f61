/**
 * The Viola API as a program: settings → clusters → app → listen → stop.
 */
import type { Environment } from '../runtime/env.ts'
import { openCertificates } from '../server/certificates.ts'
import { listen } from '../server/server.ts'
import { measureCalls } from '../telemetry/client-metrics.ts'
import type { Log } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { openViolaAccess } from './access.ts'
import { createViolaApp } from './app.ts'
import { violaSettingsFrom } from './config.ts'
import { openTargets } from './targets/targets.ts'

export interface ViolaOptions {
  env: Environment
  log: Log
  signal: AbortSignal
  onListen?: (url: string) => void
}

/** Runs until the signal. Requests in progress get their response first. */
export async function runViola({ env, log, signal, onListen }: ViolaOptions): Promise<void> {
  const settings = violaSettingsFrom(env)
  const certificates = await openCertificates('VIOLA', settings, log)
  const metrics = createMetrics('viola', { process: true })
  const startCall = measureCalls(metrics)
  const access = await openViolaAccess(settings, log, startCall)
  const targets = await openTargets({ settings, log, startCall })
  const app = createViolaApp({
    targets,
    access,
    log,
    parallel: settings.VIOLA_PARALLEL,
    certificates,
    metrics,
    tracing: settings,
  })
  try {
    const url = await listen(app, settings.LISTEN_ADDR)
    log.info('listening', { url })
    onListen?.(url)
    if (!signal.aborted) await new Promise(resolve => signal.addEventListener('abort', resolve, { once: true }))
  } finally {
    await app.close()
  }
  log.info('stopped')
}
