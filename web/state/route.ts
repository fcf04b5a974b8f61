/**
 * The screen and its filters, kept in the fragment of the address so that any file server can serve the page. Pure.
 */
import { shownText } from './shown.ts'

export const screens = ['overview', 'matrix', 'nodes', 'topology', 'deviations', 'ports', 'history'] as const
export type Screen = (typeof screens)[number]

export interface Route {
  screen: Screen
  /** Only on the screen `nodes`. */
  providerId?: string
  nodeName?: string
  /** Shows the state at this time instead of the current state. */
  asof?: string
  query: Record<string, string>
}

export function routeFrom(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  const [first = '', ...rest] = path.split('/').map(decode)
  const screen = screens.find(each => each === first) ?? 'overview'
  const query = Object.fromEntries([...new URLSearchParams(search)].map(([name, value]) => [name, shownText(value)]))
  const { asof } = query
  const snapshot = asof && snapshotScreens.has(screen) && !Number.isNaN(Date.parse(asof)) ? { asof } : {}
  if (screen !== 'nodes') return { screen, query, ...snapshot }
  const [providerId, nodeName] = rest.length === 1 ? [undefined, rest[0]] : rest
  return { screen, query, ...snapshot, ...(providerId && { providerId }), ...(nodeName && { nodeName }) }
}

/** Screens that can show the state at an earlier time. */
const snapshotScreens = new Set<Screen>(['overview', 'matrix', 'nodes', 'topology'])

/** Adds the time of the current route to a link, unless the link has its own: `asof=now` returns to the current state. */
export function keepSnapshotTime(current: Route, hash: string): string | undefined {
  const next = routeFrom(hash)
  if (!current.asof || next.query['asof'] || !snapshotScreens.has(next.screen)) return undefined
  const [path = '', search = ''] = (hash || '#/').split('?')
  return `${path}?${new URLSearchParams([...new URLSearchParams(search), ['asof', current.asof]])}`
}

/** Leaves out empty values. */
export function linkTo(screen: Screen, query: Record<string, string | undefined> = {}): string {
  const values = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const search = new URLSearchParams(values).toString()
  return `#/${screen === 'overview' ? '' : screen}${search ? `?${search}` : ''}`
}

export function linkToNode({ providerId, nodeName }: { providerId: string; nodeName: string }, nic?: string): string {
  const path = [providerId, nodeName].map(encodeURIComponent).join('/')
  return `#/nodes/${path}${nic ? `?nic=${encodeURIComponent(nic)}` : ''}`
}

/** A link comes from anybody. */
export function decode(part: string): string {
  try {
    return shownText(decodeURIComponent(part))
  } catch {
    return part
  }
}
