/**
 * Addresses of a message bus as people write them: `amqp://host:5672/vhost`, `amqps://…`, `rabbit://…`, `host:port` or
 * `host`, several with commas between, with or without an account.
 */
import { urlOf } from '../contract/url.ts'

export interface BusHost {
  hostname: string
  port: number
  tls: boolean
}

export interface BusAddresses {
  hosts: BusHost[]
  vhost: string
  /** The account of the first address that carries one. */
  user?: string
  password?: string
}

/** What is wrong, in words that never repeat what may be a password; or the addresses. */
export function busAddresses(texts: readonly string[]): BusAddresses | { mistake: string } {
  const parts = texts.flatMap(text => text.split(',').map(part => part.trim())).filter(part => part !== '')
  if (parts.length === 0) return { mistake: 'no address' }
  const read: Address[] = []
  for (const [index, part] of parts.entries()) {
    const address = addressOf(part)
    if (!address)
      return { mistake: `address ${index + 1} is none; write it like amqp://host:5672/vhost, amqps://… or host:port` }
    read.push(address)
  }
  const vhosts = [...new Set(read.flatMap(({ vhost }) => vhost ?? []))]
  if (vhosts.length > 1) return { mistake: `the addresses name ${vhosts.length} virtual hosts; one bus has one` }
  const account = read.find(({ user }) => user !== undefined)
  return {
    hosts: read.map(({ host }) => host),
    vhost: vhosts[0] ?? '/',
    ...(account?.user !== undefined && { user: account.user }),
    ...(account?.password !== undefined && { password: account.password }),
  }
}

/** For people: without an account. */
export function hostText({ hostname, port }: BusHost): string {
  return `${hostname.includes(':') ? `[${hostname}]` : hostname}:${port}`
}

interface Address {
  host: BusHost
  vhost?: string
  user?: string
  password?: string
}

function addressOf(text: string): Address | undefined {
  const scheme = /^([a-z+]+):\/\//i.exec(text)?.[1]?.toLowerCase() ?? 'amqp'
  if (!['amqp', 'amqps', 'rabbit', 'kombu'].includes(scheme)) return undefined
  // As http, because other schemes are not taken apart by the standard.
  const web = `http://${text.replace(/^[a-z+]+:\/\//i, '')}`
  const url = urlOf(web)
  if (!url) return undefined
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const tls = scheme === 'amqps'
  const explicit = /:80$/.test(web.slice(7).split('/')[0] ?? '') ? 80 : undefined
  const port = Number(url.port) || explicit || (tls ? 5671 : 5672)
  if (hostname === '') return undefined
  const path = plain(url.pathname.slice(1))
  const [user, password] = [plain(url.username), plain(url.password)]
  if (path === undefined || user === undefined || password === undefined) return undefined
  return {
    host: { hostname, port, tls },
    ...(path !== '' && { vhost: path }),
    ...(user !== '' && { user }),
    ...(password !== '' && { password }),
  }
}

function plain(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
