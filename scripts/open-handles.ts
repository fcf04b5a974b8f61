/**
 * Preloaded into each test file: prints what is open after most of the time that the file has. Usually it has ended by then.
 */
import { environment } from '../src/runtime/env.ts'

const { OPEN_HANDLES_AFTER_MS } = environment()

interface Handle {
  type: string
  is_active: boolean
  is_referenced?: boolean
  localEndpoint?: { ip4?: string; port: number } | null
  remoteEndpoint?: { ip4?: string; port: number } | null
}

setTimeout(print, Number(OPEN_HANDLES_AFTER_MS)).unref()

function print(): void {
  // Otherwise the report asks the DNS for the names of all endpoints.
  Object.assign(process.report, { excludeNetwork: true })
  const { libuv } = process.report.getReport() as unknown as { libuv: Handle[] }
  const handles = libuv.filter(({ is_active, is_referenced }) => is_active && is_referenced)
  const resources = Map.groupBy(process.getActiveResourcesInfo(), name => name)
  const counts = [...resources].map(([name, all]) => `${all.length} ${name}`)
  console.error(`open after ${Math.round(performance.now() / 1_000)} s: ${counts.join(', ')}`)
  for (const { type, localEndpoint, remoteEndpoint } of handles)
    console.error(`  ${type} ${textOf(localEndpoint)} → ${textOf(remoteEndpoint)}`)
}

function textOf(endpoint: Handle['localEndpoint']): string {
  return endpoint ? `${endpoint.ip4 ?? ''}:${endpoint.port}` : '-'
}
