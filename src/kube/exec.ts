/**
 * Credentials from an exec plugin of a kubeconfig (`users[].user.exec`), cached until they expire.
 *
 * The plugin gets no terminal, so interactiveMode Always is an error. Its stderr passes through; its output never appears in
 * an error.
 */
import { spawn } from 'node:child_process'
import { isAbsolute, resolve } from 'node:path'
import * as z from 'zod'
import { environment } from '../runtime/env.ts'
import { messageOf } from '../runtime/errors.ts'

const versions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const

export const ExecPlugin = z.object({
  apiVersion: z.enum(versions, { error: `must be ${versions.join(' or ')}` }),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string().min(1), value: z.string() })).nullish(),
  interactiveMode: z
    .enum(['Never', 'IfAvailable', 'Always'], { error: 'must be Never, IfAvailable or Always' })
    .optional(),
  provideClusterInfo: z.boolean().optional(),
  installHint: z.string().nullish(),
})
export type ExecPlugin = z.output<typeof ExecPlugin>

export interface Identity {
  cert: string
  key: string
}

interface Credentials {
  token: string
  identity: Identity | undefined
  /** Milliseconds since 1970; infinity without an expirationTimestamp. */
  expiresAt: number
}

export interface ExecOptions {
  /** Path of the plugin in the kubeconfig, for errors: `users[x].user.exec`. */
  at: string
  /** Base of relative commands. */
  directory: string
  /** Passed to the plugin with provideClusterInfo. */
  cluster: Record<string, unknown>
  now?: () => number
}

export interface ExecCredentials {
  /** `rejected` is a token that the server rejected: it is not returned again. */
  token(rejected?: string): Promise<string>
  identity(): Promise<Identity | undefined>
}

const timeoutMs = 60_000
/** Credentials are renewed this long before they expire. A token this fresh is not renewed when the server rejects it. */
const marginMs = 10_000

export function execCredentials(plugin: ExecPlugin, options: ExecOptions): ExecCredentials {
  const { at, now = Date.now } = options
  if (plugin.interactiveMode === 'Always') {
    throw new Error(`${at}.interactiveMode: Always needs a terminal; use Never or IfAvailable`)
  }
  let cached: { credentials: Promise<Credentials>; requestedAt: number } | undefined

  const renew = () => {
    const request = { credentials: runPlugin(plugin, options), requestedAt: now() }
    // The next request runs a failed plugin again.
    request.credentials.catch(() => {
      if (cached === request) cached = undefined
    })
    cached = request
    return request.credentials
  }

  async function current(rejected?: string): Promise<Credentials> {
    if (!cached) return renew()
    const { credentials, requestedAt } = cached
    const found = await credentials
    // Another request may have renewed them meanwhile.
    if (cached?.credentials !== credentials) return current(rejected)
    const isFresh = now() - requestedAt < marginMs
    const isExpired = now() > found.expiresAt - (isFresh ? 0 : marginMs)
    return isExpired || (!isFresh && rejected !== undefined && rejected === found.token) ? renew() : found
  }

  return {
    token: async rejected => (await current(rejected)).token,
    identity: async () => (await current()).identity,
  }
}

async function runPlugin(plugin: ExecPlugin, { at, directory, cluster }: ExecOptions): Promise<Credentials> {
  const { apiVersion, command, args, env, provideClusterInfo, installHint } = plugin
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(provideClusterInfo && { cluster }) },
  }
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))
  // A name without a slash is looked up in PATH.
  const program = command.includes('/') && !isAbsolute(command) ? resolve(directory, command) : command
  try {
    const text = await output(program, args ?? [], {
      ...environment(),
      ...own,
      KUBERNETES_EXEC_INFO: JSON.stringify(info),
    })
    return credentialsIn(text, apiVersion)
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    const hint = missing && installHint ? ` ${installHint.trim()}` : ''
    const reason = missing ? 'program not found.' : messageOf(error)
    throw new Error(`${at}: ${command}: ${reason}${hint}`, { cause: error })
  }
}

function output(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    // Not the timeout option of spawn: its timer keeps the process alive if the program does not exist.
    const timer = setTimeout(() => child.kill(), timeoutMs)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    child.once('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    child.once('close', (code, signal) => {
      clearTimeout(timer)
      if (code === 0) resolve(text)
      else if (signal) reject(new Error(`terminated by ${signal} (timeout ${timeoutMs / 1000} s)`))
      else reject(new Error(`exit code ${code}`))
    })
  })
}

const Output = z.object({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
})

function credentialsIn(text: string, expectedVersion: string): Credentials {
  const parsed = Output.safeParse(jsonFrom(text))
  if (!parsed.success) {
    const fields = parsed.error.issues.map(issue => issue.path.map(String).join('.') || 'output')
    throw new Error(`output is not an ExecCredential: ${[...new Set(fields)].join(', ')}`)
  }
  const { apiVersion, status } = parsed.data
  if (apiVersion !== expectedVersion) throw new Error(`output has apiVersion ${apiVersion}, not ${expectedVersion}`)
  const { token = '', clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  if (!cert !== !key) throw new Error('output has only one of status.clientCertificateData and status.clientKeyData')
  if (!token && !cert) throw new Error('output has neither status.token nor status.clientCertificateData')
  return {
    token,
    identity: cert && key ? { cert, key } : undefined,
    expiresAt: expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY,
  }
}

/** The message of the parser would quote the text, which may contain a token. */
function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
