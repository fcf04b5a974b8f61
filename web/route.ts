/**
 * Where the reader is: kept behind the # of the address, so that any file server can serve the page. Pure.
 */
export const screens = ['overview', 'matrix', 'nodes', 'topology', 'deviations', 'history'] as const
export type Screen = (typeof screens)[number]

export interface Route {
  screen: Screen
  /** On the screen `nodes`: which one. */
  providerId?: string
  nodeName?: string
  query: Record<string, string>
}

export function routeFrom(hash: string): Route {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?')
  const [first = '', ...rest] = path.split('/').map(decoded)
  const screen = screens.find(each => each === first) ?? 'overview'
  const query = Object.fromEntries(new URLSearchParams(search))
  if (screen !== 'nodes') return { screen, query }
  const [providerId, nodeName] = rest
  return { screen, query, ...(providerId && nodeName ? { providerId, nodeName } : {}) }
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
