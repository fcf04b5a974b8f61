/**
 * Where the APIs are, and the token for them: from flags, else from the environment, else the inventory of the cluster of the
 * kubeconfig, through its API server.
 */
import { urlOf, withoutSlash } from '../contract/url.ts'
import { messageOf } from '../runtime/errors.ts'
import type { ClusterInventory } from './cluster-inventory.ts'
import type { Reachable } from './connection.ts'
import { CliError, type Io } from './io.ts'

export interface AccessFlags {
  inventory?: string
  operator?: string
  tokenFile?: string
  caFile?: string
  sendToken?: boolean
  kubeconfig?: string
  context?: string
}

/** Its URL has no trailing slash; of a Pod, it is the name. */
export interface Service extends Reachable {
  name: 'inventory' | 'operator'
  /** The flag or variable that set the URL. */
  setBy: string
}

export interface Access {
  inventory(): Promise<Service>
  /** The address of the inventory, unless another one is set. */
  operator(): Promise<Service>
  token(): Promise<string | undefined>
  /** Certificates of the CA that the user has set. */
  ca(): Promise<string | undefined>
}

const help = `Or set the URL with --inventory URL or MULTINIC_INVENTORY_URL, and the file of a token with --token-file FILE or MULTINIC_TOKEN_FILE.`

export function accessFrom(flags: AccessFlags, io: Io): Access {
  const { read } = io
  // A context names a cluster, so the addresses and the token of another one do not count.
  const env = flags.context === undefined ? io.env : {}
  let found: Promise<ClusterInventory> | undefined
  let token: Promise<string | undefined> | undefined
  let ca: Promise<string | undefined> | undefined

  /** Loaded only when it is needed: most of the commands know a URL. */
  function inCluster(): Promise<ClusterInventory> {
    found ??= import('./cluster-inventory.ts')
      .then(({ findInventory }) => findInventory(io, flags))
      .catch(error => {
        throw new CliError(`the inventory: ${messageOf(error)}\n${help}`, { cause: error })
      })
    return found
  }

  function service(name: Service['name'], flag: string | undefined, option: string, variable: string) {
    const [text, setBy] = flag !== undefined ? [flag, option] : [env[variable] || undefined, variable]
    return text === undefined ? undefined : { name, url: urlFrom(text, setBy), setBy }
  }
  const withCa = async (service: Service): Promise<Service> => {
    const own = await ownCa()
    return own === undefined ? service : { ...service, tls: { ca: own } }
  }
  function ownCa(): Promise<string | undefined> {
    ca ??= certificatesIn(flags.caFile ?? (env['MULTINIC_CA_FILE'] || undefined), read)
    return ca
  }
  const inventoryUrl = () => service('inventory', flags.inventory, '--inventory', 'MULTINIC_INVENTORY_URL')

  async function inventory(): Promise<Service> {
    const named = inventoryUrl()
    if (named) return withCa(named)
    const { name, forward, identity } = await inCluster()
    return { name: 'inventory', url: name, setBy: '--kubeconfig', forward, tls: await identity?.(ownCa) }
  }

  async function chooseToken(): Promise<string | undefined> {
    const file = flags.tokenFile ?? (env['MULTINIC_TOKEN_FILE'] || undefined)
    if (file !== undefined) return tokenIn(file, read)
    if (flags.sendToken) return ownToken()
    return inventoryUrl() ? undefined : (await inCluster()).readerToken()
  }

  /** The token of the kubeconfig: it is good for more than our APIs, so it is sent only on request. */
  async function ownToken(): Promise<string> {
    const { clusterAccessOf } = await import('./cluster.ts')
    const own = await (await clusterAccessOf(io, flags)).token?.()
    if (own === undefined) throw new CliError('--send-token: the kubeconfig has no token for this user')
    return own
  }

  return {
    inventory,
    operator: async () => {
      const named = service('operator', flags.operator, '--operator', 'MULTINIC_OPERATOR_URL')
      return named ? withCa(named) : { ...(await inventory()), name: 'operator' }
    },
    token: () => {
      token ??= chooseToken()
      return token
    },
    ca: ownCa,
  }
}

function urlFrom(text: string, setBy: string): string {
  const url = urlOf(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new CliError(`${setBy}: "${text}" is not a URL; use http://127.0.0.1:18081, for example`)
  return withoutSlash(url.href)
}

async function certificatesIn(path: string | undefined, read: Io['read']): Promise<string | undefined> {
  if (path === undefined) return undefined
  const text = await read(path).catch(error => {
    throw new CliError(`cannot read the CA file: ${messageOf(error)}`)
  })
  // Node would ignore the text and trust nobody.
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new CliError(`${path} has no certificate in PEM format`)
  return text
}

async function tokenIn(path: string | undefined, read: Io['read']): Promise<string | undefined> {
  if (path === undefined) return undefined
  const text = await read(path).catch(error => {
    throw new CliError(`cannot read the token file: ${messageOf(error)}`)
  })
  const token = text.trim()
  if (token === '' || /\s/.test(token)) throw new CliError(`${path} must contain one token and nothing else`)
  return token
}
