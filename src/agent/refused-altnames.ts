/**
 * Altnames that the kernel of this boot refused: it has none before 5.5, or another device has the name. Nothing depends
 * on one, and asking again at every run would make every run a change.
 */
import type { Host } from './host.ts'
import type { Paths } from './paths.ts'

interface Refused {
  bootId: string
  altnames: string[]
}

export function refusedAltnames(host: Host, paths: Paths, bootId: string): string[] {
  try {
    const refused = JSON.parse(host.readValue(pathOf(paths)) ?? 'null') as Refused | null
    return refused?.bootId === bootId ? refused.altnames.map(String) : []
  } catch {
    return []
  }
}

export function rememberRefused(host: Host, paths: Paths, refused: Refused): void {
  const path = pathOf(paths)
  host.makeDirectory(paths.state)
  host.writeFile(`${path}.new`, { text: `${JSON.stringify(refused)}\n`, mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

function pathOf(paths: Paths): string {
  return `${paths.state}/refused-altnames.json`
}
