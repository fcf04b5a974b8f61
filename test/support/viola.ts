/**
 * The Viola API for tests: built from settings as in production, without a listening port.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { FastifyInstance } from 'fastify'
import { violaPath } from '../../src/contract/viola.ts'
import { environment } from '../../src/runtime/env.ts'
import { openCertificates } from '../../src/server/certificates.ts'
import { type Log, silent } from '../../src/telemetry/log.ts'
import { openViolaAccess } from '../../src/viola/access.ts'
import { createViolaApp, type ViolaAppOptions } from '../../src/viola/app.ts'
import { violaSettingsFrom } from '../../src/viola/config.ts'
import { openTargets } from '../../src/viola/targets/targets.ts'

export interface ViolaResponse {
  status: number
  body: string
  // biome-ignore lint/suspicious/noExplicitAny: tests inspect responses of every shape
  json: any
  headers: Record<string, unknown>
}

export interface Viola {
  app: FastifyInstance
  ask(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, options?: RequestOptions): Promise<ViolaResponse>
  post(nodes: unknown, options?: RequestOptions): Promise<ViolaResponse>
  list(query?: string, options?: RequestOptions): Promise<ViolaResponse>
  remove(nodeName: string, options?: RequestOptions): Promise<ViolaResponse>
  close(): Promise<void>
}

export interface RequestOptions {
  provider?: string
  headers?: Record<string, string>
  body?: unknown
}

/** Open to everyone, unless the test sets another access. */
export async function aViola(
  env: Record<string, string>,
  log: Log = silent,
  more: Pick<ViolaAppOptions, 'timeouts'> = {},
): Promise<Viola> {
  const settings = violaSettingsFrom({ VIOLA_ANONYMOUS_ACCESS: 'true', ...env })
  const certificates = await openCertificates('VIOLA', settings, log, 20)
  const access = await openViolaAccess(settings, log)
  const targets = await openTargets({ settings, log, refreshMs: 20, maxAgeMs: 20 })
  const app = createViolaApp({ targets, access, log, parallel: settings.VIOLA_PARALLEL, certificates, ...more })

  const ask: Viola['ask'] = async (method, path, { provider = 'p1', headers = {}, body } = {}) => {
    const answer = await app.inject({
      method,
      url: path,
      headers: { ...(provider && { 'x-provider-id': provider }), ...headers },
      ...(body === undefined ? {} : { payload: body as object | string }),
    })
    const isJson = String(answer.headers['content-type']).includes('json') && answer.body !== ''
    return {
      status: answer.statusCode,
      body: answer.body,
      json: isJson ? answer.json() : undefined,
      headers: answer.headers,
    }
  }
  return {
    app,
    ask,
    post: (nodes, options) => ask('POST', violaPath, { ...options, body: nodes }),
    list: (query = '', options) => ask('GET', `${violaPath}${query}`, options),
    remove: (nodeName, options) => ask('DELETE', `${violaPath}/${encodeURIComponent(nodeName)}`, options),
    close: () => app.close(),
  }
}

/** Viola in a process of its own, which a test may kill. */
export async function aViolaProgram(env: Record<string, string>): Promise<{ child: ChildProcess; url: string }> {
  const program = join(import.meta.dirname, '../../src/main.ts')
  const child = spawn(process.execPath, [program, 'viola'], {
    env: { ...environment(), VIOLA_ANONYMOUS_ACCESS: 'true', ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  for await (const line of createInterface({ input: child.stderr }))
    if (line.includes('"listening"')) return { child, url: JSON.parse(line).url }
  throw new Error('Viola exited before it listened')
}

export function aNodeOf(nodeName: string, count = 1, more: object = {}): Record<string, unknown> {
  const base = [...nodeName].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) % 0xffffff, 7)
  const hex = base.toString(16).padStart(6, '0').match(/../g)?.join(':')
  return {
    nodeName,
    instanceId: `vm-${nodeName}`,
    interfaces: Array.from({ length: count }, (_, id) => ({
      id,
      name: `multinic${id}`,
      portId: `port-${nodeName}-${id}`,
      macAddress: `02:00:${hex}:0${id}`,
      address: `10.${id}.0.5`,
      cidr: `10.${id}.0.0/24`,
      mtu: 1450,
    })),
    ...more,
  }
}
