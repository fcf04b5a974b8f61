/**
 * Where the APIs are and who asks: from flags, then from the environment.
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
  /** Without a slash at its end. */
  url: string
  /** Where the address was said. */
  said: string
}

export interface Access {
  inventory(): Service
  /** Answers next to the inventory, unless it is named. */
  operator(): Service
  token(): Promise<string | undefined>
}

const help = `Say where the inventory is: --inventory URL, or export MULTINIC_INVENTORY_URL=URL.
In a cluster it is a Service; this makes it reachable at http://127.0.0.1:18081:
  kubectl -n multinic-operator-system port-forward service/multinic-operator-inventory-service 18081`

export function accessFrom(flags: AccessFlags, { env, read }: Pick<Io, 'env' | 'read'>): Access {
  const inventory = () =>
    service('inventory', flags.inventory, '--inventory', 'MULTINIC_INVENTORY_URL') ?? absent('inventory')

  function service(name: Service['name'], flag: string | undefined, option: string, variable: string) {
    const [text, said] = flag !== undefined ? [flag, option] : [env[variable] || undefined, variable]
    return text === undefined ? undefined : { name, url: addressFrom(text, said), said }
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
  throw new CliError(`the address of the ${name} is not known\n${help}`)
}

function addressFrom(text: string, said: string): string {
  const url = urlOf(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.search || url.hash)
    throw new CliError(`${said}: "${text}" is not an address; write it like http://127.0.0.1:18081`)
  return withoutSlash(url.href)
}

async function tokenIn(path: string | undefined, read: Io['read']): Promise<string | undefined> {
  if (path === undefined) return undefined
  const text = await read(path).catch(error => {
    throw new CliError(`the token file cannot be read: ${messageOf(error)}`)
  })
  const token = text.trim()
  if (token === '' || /\s/.test(token)) throw new CliError(`${path} must hold one token and nothing else`)
  return token
}
