/**
 * URLs of the APIs and the token: from flags, else from the environment.
 */
import { urlOf, withoutSlash } from '../contract/url.ts'
import { messageOf } from '../runtime/errors.ts'
import { CliError, type Io } from './io.ts'

export interface AccessFlags {
  inventory?: string
  operator?: string
  tokenFile?: string
}

export interface Service {
  name: 'inventory' | 'operator'
  /** Without a trailing slash. */
  url: string
  /** The flag or variable that set the URL. */
  setBy: string
}

export interface Access {
  inventory(): Service
  /** The URL of the inventory, unless another one is set. */
  operator(): Service
  token(): Promise<string | undefined>
}

const help = `Set it with --inventory URL, or export MULTINIC_INVENTORY_URL=URL.
The inventory is a Service in the management cluster. Make it reachable at http://127.0.0.1:18081:
  kubectl -n multinic-system port-forward service/multinic-inventory 18081                              # installed by Helm
  kubectl -n multinic-operator-system port-forward service/multinic-operator-inventory-service 18081    # installed by kustomize`

export function accessFrom(flags: AccessFlags, { env, read }: Pick<Io, 'env' | 'read'>): Access {
  const inventory = () =>
    service('inventory', flags.inventory, '--inventory', 'MULTINIC_INVENTORY_URL') ?? absent('inventory')

  function service(name: Service['name'], flag: string | undefined, option: string, variable: string) {
    const [text, setBy] = flag !== undefined ? [flag, option] : [env[variable] || undefined, variable]
    return text === undefined ? undefined : { name, url: urlFrom(text, setBy), setBy }
  }

  let token: Promise<string | undefined> | undefined
  return {
    inventory,
    operator: () =>
      service('operator', flags.operator, '--operator', 'MULTINIC_OPERATOR_URL') ?? {
        ...inventory(),
        name: 'operator',
      },
    token: () => {
      token ??= tokenIn(flags.tokenFile ?? (env['MULTINIC_TOKEN_FILE'] || undefined), read)
      return token
    },
  }
}

function absent(name: string): never {
  throw new CliError(`the URL of the ${name} is not set\n${help}`)
}

function urlFrom(text: string, setBy: string): string {
  const url = urlOf(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new CliError(`${setBy}: "${text}" is not a URL; use http://127.0.0.1:18081, for example`)
  return withoutSlash(url.href)
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
