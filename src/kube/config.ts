/**
 * Where a cluster is and who we are to it: from a kubeconfig file, or from inside a Pod.
 *
 * Errors name the field and never show its value.
 */
import { readFileSync } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { withoutSlash } from '../contract/url.ts'
import { explain, messageOf } from '../runtime/errors.ts'
import { ExecPlugin, execCredentials, type Identity } from './exec.ts'

export interface ClusterAccess {
  /** `https://host:port`, perhaps with a path. */
  server: string
  ca?: string
  cert?: string
  key?: string
  /** The name to expect in the server's certificate. */
  servername?: string
  insecure?: boolean
  /** `http://host:port` of a proxy on the way, perhaps with a user and password. */
  proxy?: string
  /** Asked for each request, so that a token may rotate; told of one that the server did not take. */
  token?: (refused?: string) => string | Promise<string>
  /** A client certificate that may change, asked for each request too. */
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
const Kubeconfig = z.object({
  'current-context': z.string().optional(),
  clusters: z.array(z.object({ name: z.string(), cluster: z.unknown() })).default([]),
  users: z.array(z.object({ name: z.string(), user: z.unknown() })).default([]),
  contexts: z.array(z.object({ name: z.string(), context: z.unknown() })).default([]),
})

/** Reads one kubeconfig. `context` wins over its `current-context`. Relative paths in it are relative to the file. */
export async function loadKubeconfig(path: string, context?: string): Promise<ClusterAccess> {
  try {
    return await accessFrom(
      await readFile(path, 'utf8'),
      { directory: resolve(dirname(path)), programs: true },
      context,
    )
  } catch (error) {
    throw explain(`kubeconfig ${path}`, error)
  }
}

/**
 * The same from a text, such as a Secret holds. It carries all that it needs: whoever may write the text must not choose a
 * program that runs here, nor have a file of ours, such as our own token, sent to a server of his.
 */
export async function kubeconfigFrom(text: string, context?: string): Promise<ClusterAccess> {
  return accessFrom(text, { directory: '/', programs: false }, context)
}

interface Place {
  directory: string
  /** Whether programs that the text names may run, and files be read. */
  programs: boolean
}

async function accessFrom(text: string, { directory, programs }: Place, wanted?: string): Promise<ClusterAccess> {
  const config = checked(Kubeconfig, yamlFrom(text), '')
  const contextName = wanted ?? config['current-context']
  if (!contextName) throw new Error('current-context: is missing, and no context was asked for')

  const context = checked(Context, named(config.contexts, 'contexts', contextName).context, `contexts[${contextName}].`)
  const clusterAt = `clusters[${context.cluster}].cluster.`
  const cluster = checked(Cluster, named(config.clusters, 'clusters', context.cluster).cluster, clusterAt)
  const userAt = `users[${context.user}].user.`
  const user = context.user ? checked(User, named(config.users, 'users', context.user).user ?? {}, userAt) : {}

  for (const plugin of ['auth-provider', 'username'] as const) {
    if (user[plugin] !== undefined)
      throw new Error(`${userAt}${plugin}: is not supported; use token, tokenFile, exec or a client certificate`)
  }
  if (user.exec && !programs)
    throw new Error(`${userAt}exec: no program is run for a kubeconfig in a Secret; use token or a client certificate`)

  if (!programs) refuseFiles(cluster, user, { clusterAt, userAt })

  const material = (inline: string | undefined, file: string | undefined, at: string) =>
    inline !== undefined ? Buffer.from(inline, 'base64').toString('utf8') : file && read(resolve(directory, file), at)
  const ca = await material(
    cluster['certificate-authority-data'],
    cluster['certificate-authority'],
    `${clusterAt}certificate-authority`,
  )
  const cert = await material(
    user['client-certificate-data'],
    user['client-certificate'],
    `${userAt}client-certificate`,
  )
  const key = await material(user['client-key-data'], user['client-key'], `${userAt}client-key`)
  if (cert && !key) throw new Error(`${userAt}client-key: is missing beside client-certificate`)
  if (key && !cert) throw new Error(`${userAt}client-certificate: is missing beside client-key`)

  const { token, tokenFile } = user
  // As kubectl has it: the file wins where both are given.
  const tokenSource = tokenFile ? tokenFromFile(resolve(directory, tokenFile)) : token ? () => token : undefined
  if (tokenFile) await tokenSource?.()
  const plugin =
    user.exec && execCredentials(user.exec, { at: `${userAt}exec`, directory, cluster: shown(cluster, ca) })
  // A plug-in that does not work is told of now, not with the first request.
  await plugin?.token()

  return {
    server: withoutSlash(cluster.server),
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key }),
    ...(cluster['tls-server-name'] && { servername: cluster['tls-server-name'] }),
    ...(cluster['insecure-skip-tls-verify'] && { insecure: true }),
    ...(cluster['proxy-url'] && { proxy: cluster['proxy-url'] }),
    ...(plugin ?? (tokenSource && { token: tokenSource })),
    ...(context.namespace && { namespace: context.namespace }),
  }
}

/** The cluster as a plug-in is told of it. */
function shown(cluster: z.output<typeof Cluster>, ca: string | undefined): Record<string, unknown> {
  const { 'certificate-authority': _, extensions, ...rest } = cluster
  const own = extensions?.find(one => one.name === 'client.authentication.k8s.io/exec')?.extension
  return {
    ...rest,
    ...(ca && { 'certificate-authority-data': Buffer.from(ca).toString('base64') }),
    ...(own !== undefined && { config: own }),
  }
}

function refuseFiles(
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
      throw new Error(`${at}${field}: no file is read for a kubeconfig in a Secret; use ${field}-data`)
  if (user.tokenFile !== undefined)
    throw new Error(`${userAt}tokenFile: no file is read for a kubeconfig in a Secret; use token`)
}

export interface InClusterEnvironment {
  KUBERNETES_SERVICE_HOST?: string | undefined
  KUBERNETES_SERVICE_PORT?: string | undefined
}

/** The access that Kubernetes puts into every Pod with a service account. */
export function inClusterAccess(
  env: InClusterEnvironment,
  dir = '/var/run/secrets/kubernetes.io/serviceaccount',
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port)
    throw new Error('KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set: this is not a Pod')
  const namespace = optionalText(join(dir, 'namespace'))
  try {
    return {
      server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
      ca: readFileSync(join(dir, 'ca.crt'), 'utf8'),
      token: tokenFromFile(join(dir, 'token')),
      ...(namespace && { namespace }),
    }
  } catch (error) {
    throw explain('the service account of this Pod', error)
  }
}

/** The token in a file that somebody else renews: read again when the file changes, and at least once a minute. */
export function tokenFromFile(path: string, now = () => performance.now()): () => Promise<string> {
  let held: { token: string; mark: string; at: number } | undefined
  return async () => {
    const { mtimeMs, ino, size } = await stat(path)
    const mark = `${ino}:${mtimeMs}:${size}`
    if (held?.mark === mark && now() - held.at < 60_000) return held.token
    const token = (await readFile(path, 'utf8')).trim()
    if (!token) throw new Error(`token file ${path}: is empty`)
    held = { token, mark, at: now() }
    return token
  }
}

function checked<S extends z.ZodType>(schema: S, value: unknown, at: string): z.output<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const lines = parsed.error.issues.map(
    issue => `${at}${issue.path.map(String).join('.') || (at ? '' : 'file')}: ${issue.message}`,
  )
  throw new Error(lines.join('; '))
}

function named<T extends { name: string }>(list: T[], field: string, name: string): T {
  const found = list.find(one => one.name === name)
  if (!found) throw new Error(`${field}: has no entry named ${name}`)
  return found
}

/** A parser's own message would quote the line, and the line may hold a token. */
function yamlFrom(text: string): unknown {
  try {
    return parse(text, { prettyErrors: false })
  } catch {
    throw new Error('is not valid YAML')
  }
}

async function read(path: string, at: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new Error(`${at}: ${messageOf(error)}`, { cause: error })
  }
}

function optionalText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return undefined
  }
}
