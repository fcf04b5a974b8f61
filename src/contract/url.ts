/**
 * Addresses of services, as people and other services write them. Free of dependencies.
 */
import { contains, type Ip, parseCidr, parseIp } from './address.ts'

/** Without the slashes at its end. A pattern for them takes the square of their number, and others write these texts. */
export function withoutSlash(url: string): string {
  let end = url.length
  while (url.endsWith('/', end) && end > 0) end--
  return url.slice(0, end)
}

/** Undefined for what is no URL. `URL.canParse` is not asked: it agrees to texts that `new URL` refuses. */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Where clouds hand out the credentials of the machine itself. No service of ours or of a cloud is ever there. */
const closed = ['169.254.0.0/16', '::ffff:169.254.0.0/112', 'fe80::/10', 'fd00:ec2::254/128'].flatMap(
  text => parseCidr(text) ?? [],
)

/** Reports whether a host is a link-local address, or one that metadata services have; names are looked up by others. */
export function isLinkLocal(host: string): boolean {
  const ip: Ip | undefined = parseIp(host.replace(/^\[|\]$/g, ''))
  return ip !== undefined && closed.some(cidr => contains(cidr, ip))
}
