/**
 * URLs of services. Free of dependencies.
 */
import { type Cidr, contains, type Ip, parseCidr, parseIp } from './address.ts'

/** Removes trailing slashes. A regular expression would be quadratic, and the text may come from an attacker. */
export function withoutSlash(url: string): string {
  let end = url.length
  while (url.endsWith('/', end)) end--
  return url.slice(0, end)
}

/** Undefined if the text is not a URL. `URL.canParse` accepts texts that `new URL` refuses. */
export function urlOf(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    // Not a URL.
  }
}

/**
 * The URL of a service without a slash at its end. Undefined unless it is http or https, with a host, a port and a path
 * only: a query or a fragment would replace the path of the request, and a user name would hide the host from readers.
 */
export function serviceUrl(text: string): string | undefined {
  const url = urlOf(text)
  if (!url || !/^https?:$/.test(url.protocol) || url.username || url.password || /[?#]/.test(text)) return undefined
  return withoutSlash(url.href)
}

/** After the name of a field whose value `serviceUrl` refuses. */
export const notServiceUrl = 'must be an http or https URL without user, query and fragment'

/** After the name of a host that the operator does not call for an object. */
export const hostNotAllowed =
  'is not in ENDPOINT_ALLOWED_HOSTS of the operator, or not in the hosts of the rule of this namespace (NAMESPACE_RULES_FILE)'

/** Metadata services hand out machine credentials at these addresses. No service of ours or of a cloud listens there. */
const metadataNetworks = [
  ...['169.254.0.0/16', 'fe80::/10'],
  // The same, as IPv4 in IPv6 and through NAT64.
  ...['::ffff:169.254.0.0/112', '64:ff9b::169.254.0.0/112'],
  // AWS, Google Cloud, Azure, Alibaba Cloud and Oracle Cloud.
  ...['fd00:ec2::254/128', 'fd20:ce::254/128', '168.63.129.16/32', '100.100.100.200/32', '192.0.0.192/32'],
].map(text => parseCidr(text) as Cidr)

/** Reports whether a host is a link-local address or one of a metadata service. Host names are resolved elsewhere. */
export function isLinkLocal(host: string): boolean {
  const ip: Ip | undefined = parseIp(host.replace(/^\[|\]$/g, ''))
  return ip !== undefined && metadataNetworks.some(cidr => contains(cidr, ip))
}
