/**
 * Credentials from a program that a kubeconfig names (`users[].user.exec`): asked when they are needed, kept until they expire.
 *
 * The program gets no terminal: one that insists on one is an error. What it writes to stderr is shown as it is, and nothing
 * that it answers appears in an error.
 */
import { spawn } from 'node:child_process'
import { isAbsolute, resolve } from 'node:path'
import { z } from 'zod'
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
  /** Milliseconds since 1970; infinity when the program names no end. */
  until: number
}

export interface ExecOptions {
  /** Where the plug-in is written, for errors: `users[x].user.exec`. */
  at: string
  /** Relative commands start here. */
  directory: string
  /** The cluster as a plug-in may ask for it. */
  cluster: Record<string, unknown>
  now?: () => number
}

export interface ExecCredentials {
  /** `refused` is a token that the server did not take: it is not given again. */
  token(refused?: string): Promise<string>
  identity(): Promise<Identity | undefined>
}

const longestMs = 60_000
/** Credentials are renewed a little before they expire, and a fresh token that is refused is no reason to ask again. */
const marginMs = 10_000

export function execCredentials(plugin: ExecPlugin, options: ExecOptions): ExecCredentials {
  const { at, now = Date.now } = options
  if (plugin.interactiveMode === 'Always') {
    throw new Error(`${at}.interactiveMode: is Always, but there is no terminal here; use Never or IfAvailable`)
  }
  let held: { credentials: Promise<Credentials>; asked: number } | undefined

  const renew = () => {
    const asking = { credentials: ask(plugin, options), asked: now() }
    // One that failed is asked again by the next request.
    asking.credentials.catch(() => {
      if (held === asking) held = undefined
    })
    held = asking
    return asking.credentials
  }

  async function current(refused?: string): Promise<Credentials> {
    if (!held) return renew()
    const { credentials, asked } = held
    const found = await credentials
    // Somebody else may have renewed them meanwhile.
    if (held?.credentials !== credentials) return current(refused)
    const isFresh = now() - asked < marginMs
    const isOver = now() > found.until - (isFresh ? 0 : marginMs)
    return isOver || (!isFresh && refused !== undefined && refused === found.token) ? renew() : found
  }

  return {
    token: async refused => (await current(refused)).token,
    identity: async () => (await current()).identity,
  }
}

async function ask(plugin: ExecPlugin, { at, directory, cluster }: ExecOptions): Promise<Credentials> {
  const { apiVersion, command, args, env, provideClusterInfo, installHint } = plugin
  const info = {
    apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(provideClusterInfo && { cluster }) },
  }
  const own = Object.fromEntries((env ?? []).map(({ name, value }) => [name, value]))
  // A bare name is looked up in PATH, anything else is a path.
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
    const because = missing ? 'there is no such program.' : messageOf(error)
    throw new Error(`${at}: ${command}: ${because}${hint}`, { cause: error })
  }
}

function output(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] })
    // Not the option of spawn: for a program that is not there its timer would hold the process until it is over.
    const over = setTimeout(() => child.kill(), longestMs)
    let text = ''
    child.stdout.setEncoding('utf8').on('data', chunk => {
      text += chunk
    })
    child.once('error', error => {
      clearTimeout(over)
      reject(error)
    })
    child.once('close', (code, signal) => {
      clearTimeout(over)
      if (code === 0) resolve(text)
      else if (signal) reject(new Error(`was ended by ${signal} (it has ${longestMs / 1000} s)`))
      else reject(new Error(`ended with code ${code}`))
    })
  })
}

const Answer = z.object({
  apiVersion: z.string(),
  kind: z.literal('ExecCredential'),
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.iso.datetime({ offset: true }).optional(),
  }),
})

function credentialsIn(text: string, wanted: string): Credentials {
  const parsed = Answer.safeParse(jsonFrom(text))
  if (!parsed.success) {
    const fields = parsed.error.issues.map(issue => issue.path.map(String).join('.') || 'the whole')
    throw new Error(`its answer is no ExecCredential: ${[...new Set(fields)].join(', ')}`)
  }
  const { apiVersion, status } = parsed.data
  if (apiVersion !== wanted) throw new Error(`it answered in ${apiVersion}, not in ${wanted}`)
  const { token = '', clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status
  if (!cert !== !key)
    throw new Error('its answer has only one of status.clientCertificateData and status.clientKeyData')
  if (!token && !cert) throw new Error('its answer has neither status.token nor status.clientCertificateData')
  return {
    token,
    identity: cert && key ? { cert, key } : undefined,
    until: expirationTimestamp ? Date.parse(expirationTimestamp) : Number.POSITIVE_INFINITY,
  }
}

/** A parser's own message would quote the text, and the text may hold a token. */
function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
