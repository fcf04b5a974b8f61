/**
 * Parses addresses of a message bus: `amqp://host:5672/vhost`, `amqps://…`, `rabbit://…`, `host:port` or `host`, separated
 * by commas, with or without an account.
 */
import { urlOf } from '../contract/url.ts'
import type { BusAddresses, BusHost } from '../operator/cloud.ts'

/** An error never contains the text of an address, because it may contain a password. */
export function parseBusAddresses(texts: readonly string[]): BusAddresses | { error: string } {
  const parts = texts.flatMap(text => text.split(',').map(part => part.trim())).filter(part => part !== '')
  if (parts.length === 0) return { error: 'no address' }
  const parsed: Address[] = []
  for (const [index, part] of parts.entries()) {
    const address = addressOf(part)
    if (!address)
      return { error: `address ${index + 1} is invalid; write amqp://host:5672/vhost, amqps://… or host:port` }
    parsed.push(address)
  }
  const vhosts = [...new Set(parsed.flatMap(({ vhost }) => vhost ?? []))]
  if (vhosts.length > 1) return { error: `the addresses name ${vhosts.length} virtual hosts; all must name the same` }
  const account = parsed.find(({ user }) => user !== undefined)
  const [vhost = '/'] = vhosts
  const hosts = parsed.map(({ host }) => host)
  const [first] = hosts
  return {
    hosts,
    vhost,
    label: `${first ? hostText(first) : ''}${vhost === '/' ? '' : `/${vhost}`}`,
    ...(account?.user !== undefined && { user: account.user }),
    ...(account?.password !== undefined && { password: account.password }),
  }
}

/** Without the account. */
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
  // The URL parser splits host and port only for schemes that it knows, such as http.
  const web = `http://${text.replace(/^[a-z+]+:\/\//i, '')}`
  const url = urlOf(web)
  if (!url) return undefined
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const tls = scheme === 'amqps'
  const explicit = /:80$/.test(web.slice(7).split('/')[0] ?? '') ? 80 : undefined
  const port = Number(url.port) || explicit || (tls ? 5671 : 5672)
  if (hostname === '') return undefined
  const path = decode(url.pathname.slice(1))
  const [user, password] = [decode(url.username), decode(url.password)]
  if (path === undefined || user === undefined || password === undefined) return undefined
  return {
    host: { hostname, port, tls },
    ...(path !== '' && { vhost: path }),
    ...(user !== '' && { user }),
    ...(password !== '' && { password }),
  }
}

function decode(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}
