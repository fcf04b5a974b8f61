/**
 * String formats of structural schemas. Unknown formats are not checked.
 */
import { isIPv4, isIPv6 } from 'node:net'

const checks: Record<string, (text: string) => boolean> = {
  ipv4: text => isIPv4(text),
  ipv6: text => isIPv6(text),
  cidr: isCidr,
  mac: text => /^([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}$/.test(text),
  uuid: text => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  date: text => /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)),
  'date-time': text =>
    /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:?\d{2})$/.test(text) &&
    !Number.isNaN(Date.parse(text)),
  byte: text => /^[A-Za-z0-9+/]*={0,2}$/.test(text) && text.length % 4 === 0,
}

export function formatHolds(format: string, text: string): boolean {
  return checks[format]?.(text) ?? true
}

export function isCidr(text: string): boolean {
  const [address = '', prefix = '', ...more] = text.split('/')
  if (more.length > 0 || !/^\d{1,3}$/.test(prefix)) return false
  return (isIPv4(address) && Number(prefix) <= 32) || (isIPv6(address) && Number(prefix) <= 128)
}
