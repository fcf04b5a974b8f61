/**
 * Where the reader is: kept behind the # of the address, so that any file server can serve the page. Pure.
 */
export const screens = ['overview', 'matrix', 'nodes', 'topology', 'deviations', 'ports', 'history'] as const
export type Screen = (typeof screens)[number]

export interface Route {
  screen: Screen
  /** On the screen `nodes`: which one. */
  providerId?: string
  nodeName?: string
  /** The time that is looked at instead of now. */
  asof?: string
  query: Record<string, string>
}

export function routeFrom(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  const [first = '', ...rest] = path.split('/').map(decoded)
  const screen = screens.find(each => each === first) ?? 'overview'
  const query = Object.fromEntries(new URLSearchParams(search))
  const { asof } = query
  const then = asof && inPast.has(screen) && !Number.isNaN(Date.parse(asof)) ? { asof } : {}
  if (screen !== 'nodes') return { screen, query, ...then }
  const [providerId, nodeName] = rest.length === 1 ? [undefined, rest[0]] : rest
  return { screen, query, ...then, ...(providerId && { providerId }), ...(nodeName && { nodeName }) }
}

/** Screens that can show another time than now. */
const inPast = new Set<Screen>(['overview', 'matrix', 'nodes', 'topology'])

/** Who looks at another time and follows a link stays there, until a link says `asof=now`. */
export function stayingThen(was: Route, hash: string): string | undefined {
  const is = routeFrom(hash)
  if (!was.asof || is.query['asof'] || !inPast.has(is.screen)) return undefined
  const [path = '', search = ''] = (hash || '#/').split('?')
  return `${path}?${new URLSearchParams([...new URLSearchParams(search), ['asof', was.asof]])}`
}

/** Empty values are left out. */
export function linkTo(screen: Screen, query: Record<string, string | undefined> = {}): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  const search = new URLSearchParams(given).toString()
  return `#/${screen === 'overview' ? '' : screen}${search ? `?${search}` : ''}`
}

export function linkToNode({ providerId, nodeName }: { providerId: string; nodeName: string }, nic?: string): string {
  const path = [providerId, nodeName].map(encodeURIComponent).join('/')
  return `#/nodes/${path}${nic ? `?nic=${encodeURIComponent(nic)}` : ''}`
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
