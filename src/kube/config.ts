/**
 * The address and credentials of a cluster, from a kubeconfig or from the ServiceAccount of a Pod.
 *
 * Errors name the field and never contain its value.
 */
import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { delimiter, dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import * as z from 'zod'
import { withoutSlash } from '../contract/url.ts'
import { explain } from '../runtime/errors.ts'
import { ExecPlugin, execCredentials, type Identity } from './exec.ts'

export interface Certificates {
  ca?: string
  cert?: string
  key?: string
}

export interface ClusterAccess extends Certificates {
  /** `https://host:port`, with an optional path. */
  server: string
  /** The certificates that come from files. Called for each request, because others renew the files. */
  certificates?: () => Promise<Certificates>
  /** The expected name in the server certificate. */
  servername?: string
  insecure?: boolean
  /** `http://host:port` of a proxy, with optional user and password. */
  proxy?: string
  /** Called for each request, because tokens rotate. `rejected` is a token that the server rejected. */
  token?: (rejected?: string) => string | Promise<string>
  /** Called for each request, because client certificates may change. */
  identity?: () => Promise<Identity | undefined>
  namespace?: string
}

const Text = z.string().min(1)
const Cluster = z.object({
  server: z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// address' }),
  'certificate-authority': Text.optional(),
  'certificate-authority-data': z.base64().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'tls-server-name': Text.optional(),
  'proxy-url': z
    .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address; other proxies are not supported' })
    .optional(),
  extensions: z.array(z.object({ name: z.string(), extension: z.unknown() })).nullish(),
})
const User = z.object({
  token: Text.optional(),
  tokenFile: Text.optional(),
  'client-certificate': Text.optional(),
  'client-certificate-data': z.base64().optional(),
  'client-key': Text.optional(),
  'client-key-data': z.base64().optional(),
  exec: ExecPlugin.optional(),
  'auth-provider': z.unknown().optional(),
  username: z.unknown().optional(),
})
const Context = z.object({ cluster: Text, user: z.string().optional(), namespace: Text.optional() })
/** kubectl writes null for a list without entries. */
const listOf = <T extends z.ZodType>(entry: T) =>
  z
    .array(entry)
    .nullish()
    .transform(list => list ?? [])
const Kubeconfig = z.object({
  'current-context': z.string().optional(),
  clusters: listOf(z.object({ name: z.string(), cluster: z.unknown() })),
  users: listOf(z.object({ name: z.string(), user: z.unknown() })),
  contexts: listOf(z.object({ name: z.string(), context: z.unknown() })),
})
/** A kubeconfig and the directory at which its relative paths start. */
type Located = z.output<typeof Kubeconfig> & { directory: string }

/**
 * Reads a kubeconfig, or a list of them with colons as in KUBECONFIG. As in kubectl, the first file that names an entry wins,
 * and files of a list may be missing. `context` overrides `current-context`.
 */
export async function loadKubeconfig(path: string, context?: string): Promise<ClusterAccess> {
  const paths = path.split(delimiter).filter(Boolean)
  const files = await Promise.all(paths.map(one => kubeconfigAt(one, paths.length > 1)))
  const found = files.filter(file => file !== undefined)
  try {
    if (found.length === 0) throw new Error('no such file')
    return await accessFrom(found, { trusted: true }, context)
  } catch (error) {
    throw explain(`kubeconfig ${path}`, error)
  }
}

async function kubeconfigAt(path: string, mayBeMissing: boolean): Promise<Located | undefined> {
  try {
    const text = await readFile(path, 'utf8')
    return locatedFrom(text, resolve(dirname(path)))
  } catch (error) {
    if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw explain(`kubeconfig ${path}`, error)
  }
}

/**
 * Parses a kubeconfig from a Secret. It must be self-contained: whoever writes the Secret must not run a program here, nor
 * have a local file such as our own token sent to another server.
 */
export async function kubeconfigFrom(text: string, context?: string): Promise<ClusterAccess> {
  return accessFrom([locatedFrom(text, '/')], { trusted: false }, context)
}

/** An empty file has no entries, as in kubectl. */
function locatedFrom(text: string, directory: string): Located {
  return { ...validated(Kubeconfig, yamlFrom(text) ?? {}, ''), directory }
}

interface Origin {
  /** The kubeconfig may name programs and files. */
  trusted: boolean
}

async function accessFrom(files: readonly Located[], { trusted }: Origin, requested?: string): Promise<ClusterAccess> {
  const contextName = requested ?? files.map(file => file['current-context']).find(Boolean)
  if (!contextName) throw new Error(`current-context: missing; contexts: ${namesIn(files, 'contexts')}`)

  const context = validated(Context, named(files, 'contexts', contextName).context, `contexts[${contextName}].`)
  const clusterAt = `clusters[${context.cluster}].cluster.`
  const clusterEntry = named(files, 'clusters', context.cluster)
  const cluster = validated(Cluster, clusterEntry.cluster, clusterAt)
  const userAt = `users[${context.user}].user.`
  const userEntry = context.user ? named(files, 'users', context.user) : undefined
  const user = validated(User, userEntry?.user ?? {}, userAt)
  const directory = userEntry?.directory ?? clusterEntry.directory

  for (const plugin of ['auth-provider', 'username'] as const) {
    if (user[plugin] !== undefined)
      throw new Error(`${userAt}${plugin}: not supported; use token, tokenFile, exec or a client certificate`)
  }
  if (user.exec && !trusted)
    throw new Error(`${userAt}exec: not allowed in a kubeconfig from a Secret; use token or a client certificate`)

  if (!trusted) rejectFiles(cluster, user, { clusterAt, userAt })

  const fields = {
    ca: { of: cluster, field: 'certificate-authority', at: clusterAt, directory: clusterEntry.directory },
    cert: { of: user, field: 'client-certificate', at: userAt, directory },
    key: { of: user, field: 'client-key', at: userAt, directory },
  } as const
  const inline: Certificates = {}
  const renewed: Record<string, () => Promise<string>> = {}
  for (const [name, { of, field, at, directory }] of Object.entries(fields)) {
    const { [`${field}-data`]: data, [field]: file } = of as Record<string, string | undefined>
    if (data !== undefined) inline[name as keyof Certificates] = Buffer.from(data, 'base64').toString('utf8')
    else if (file) renewed[name] = textFromFile(resolve(directory, file), `${at}${field}`)
  }
  const certificates = certificatesFrom(renewed)
  const { ca, cert, key } = { ...inline, ...(await certificates()) }
  if (cert && !key) throw new Error(`${userAt}client-key: required with client-certificate`)
  if (key && !cert) throw new Error(`${userAt}client-certificate: required with client-key`)

  const { token, tokenFile } = user
  // As in kubectl, the file wins over the token.
  const tokenSource = tokenFile ? tokenFromFile(resolve(directory, tokenFile)) : token ? () => token : undefined
  if (tokenFile) await tokenSource?.()
  const plugin =
    user.exec && execCredentials(user.exec, { at: `${userAt}exec`, directory, cluster: clusterInfo(cluster, ca) })
  // Fail now for a plugin that does not work, not with the first request.
  await plugin?.token()

  return {
    server: withoutSlash(cluster.server),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(Object.keys(renewed).length > 0 && { certificates }),
    ...(cluster['tls-server-name'] && { servername: cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] && { insecure: true }),
    ...(cluster['proxy-url'] && { proxy: cluster['proxy-url'] }),
    ...(plugin ?? (tokenSource && { token: tokenSource })),
    ...(context.namespace && { namespace: context.namespace }),
  }
}

/** The cluster as an exec plugin gets it. */
function clusterInfo(cluster: z.output<typeof Cluster>, ca: string | undefined): Record<string, unknown> {
  const { 'certificate-authority': _, extensions, ...rest } = cluster
  const own = extensions?.find(one => one.name === 'client.authentication.k8s.io/exec')?.extension
  return {
    ...rest,
    ...(ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(own !== undefined && { config: own }),
  }
}

function rejectFiles(
  cluster: z.output<typeof Cluster>,
  user: z.output<typeof User>,
  { clusterAt, userAt }: { clusterAt: string; userAt: string },
): void {
  const files: [at: string, field: string, named: string | undefined, inline: string | undefined][] = [
    [clusterAt, 'certificate-authority', cluster['certificate-authority'], cluster['certificate-authority-data']],
    [userAt, 'client-certificate', user['client-certificate'], user['client-certificate-data']],
    [userAt, 'client-key', user['client-key'], user['client-key-data']],
  ]
  for (const [at, field, named, inline] of files)
    if (named !== undefined && inline === undefined)
      throw new Error(`${at}${field}: files are not allowed in a kubeconfig from a Secret; use ${field}-data`)
  if (user.tokenFile !== undefined)
    throw new Error(`${userAt}tokenFile: files are not allowed in a kubeconfig from a Secret; use token`)
}

export interface InClusterEnvironment {
  KUBERNETES_SERVICE_HOST?: string | undefined
  KUBERNETES_SERVICE_PORT?: string | undefined
}

/** The credentials that Kubernetes mounts into a Pod with a ServiceAccount. */
export function inClusterAccess(
  env: InClusterEnvironment,
  dir = '/var/run/secrets/kubernetes.io/serviceaccount',
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port)
    throw new Error('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: not running in a Pod')
  const namespace = optionalText(join(dir, 'namespace'))
  try {
    return {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      ca: readFileSync(join(dir, 'ca.crt'), 'utf8'),
      certificates: certificatesFrom({ ca: textFromFile(join(dir, 'ca.crt'), 'the CA of the ServiceAccount') }),
      token: tokenFromFile(join(dir, 'token')),
      ...(namespace && { namespace }),
    }
  } catch (error) {
    throw explain('cannot read the ServiceAccount of this Pod', error)
  }
}

/** A token file that is renewed from outside. Call it with a token that a server refused: the file may have a newer one. */
export function tokenFromFile(path: string, now?: () => number): (refused?: string) => Promise<string> {
  const text = textFromFile(path, `token file ${path}`, now)
  return async refused => {
    const token = (await text({ mayBeOld: refused === undefined })).trim()
    if (!token) throw new Error(`token file ${path} is empty`)
    return token
  }
}

/** A check of a file costs more than the rest of a small request. */
const checkEveryMs = 1_000

type RenewedText = (options?: { mayBeOld: boolean }) => Promise<string>

/**
 * A file that is renewed from outside: checked once a second, and read when it changed, and at least once a minute. Its last
 * text, while it is being replaced. `what` names it in errors.
 */
function textFromFile(path: string, what: string, now = () => performance.now()): RenewedText {
  let read: { text: string; version: string; at: number } | undefined
  let checked: { text: Promise<string>; at: number } | undefined

  async function check(): Promise<string> {
    try {
      const { mtimeMs, ino, size } = await stat(path)
      const version = `${ino}:${mtimeMs}:${size}`
      if (read?.version === version && now() - read.at < 60_000) return read.text
      read = { text: await readFile(path, 'utf8'), version, at: now() }
      return read.text
    } catch (error) {
      if (read) return read.text
      checked = undefined
      throw explain(what, error)
    }
  }

  return ({ mayBeOld } = { mayBeOld: true }) => {
    if (!checked || !mayBeOld || now() - checked.at >= checkEveryMs) checked = { text: check(), at: now() }
    return checked.text
  }
}

function certificatesFrom(files: { [name in keyof Certificates]: () => Promise<string> }) {
  return async (): Promise<Certificates> => {
    const read = Object.entries(files).map(async ([name, text]) => [name, await text()] as const)
    return Object.fromEntries(await Promise.all(read))
  }
}

function validated<S extends z.ZodType>(schema: S, value: unknown, at: string): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(
    issue => `${at}${issue.path.map(String).join('.') || (at ? '' : 'file')}: ${issue.message}`,
  )
  throw new Error(lines.join('; '))
}

type Field = 'clusters' | 'users' | 'contexts'

function namesIn(files: readonly Located[], field: Field): string {
  const names = files.flatMap(file => file[field].map(({ name }) => name))
  return [...new Set(names)].join(', ') || 'none'
}

/** The entry of the first file that names it, with the directory of that file. */
function named<F extends Field>(files: readonly Located[], field: F, name: string) {
  for (const file of files) {
    const found: Located[F][number] | undefined = file[field].find(one => one.name === name)
    if (found) return { ...found, directory: file.directory }
  }
  throw new Error(`${field}: no entry named ${name}; there are ${namesIn(files, field)}`)
}

/** The message of the parser would quote the line, which may contain a token. */
function yamlFrom(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}

function optionalText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
