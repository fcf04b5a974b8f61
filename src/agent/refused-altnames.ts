/**
 * Altnames that the kernel of this boot refused: it has none before 5.5, or another device has the name. A NIC works
 * without one, and trying again in every run would make every run a change.
 */
import { messageOf } from '../runtime/errors.ts'
import type { HostContext } from './context.ts'
import type { Host } from './host.ts'
import type { Observed } from './observed.ts'
import type { Paths } from './paths.ts'

/** The keys are those of older agents: never change them. */
interface FileContent {
  bootId: string
  altnames: string[]
}

export function readRefusedAltnames(host: Host, paths: Paths, bootID: string): string[] {
  try {
    const content = JSON.parse(host.readValue(pathOf(paths)) ?? 'null') as FileContent | null
    return content?.bootId === bootID ? content.altnames.map(String) : []
  } catch {
    return []
  }
}

/** If it cannot be saved, the next run tries the altnames once more; nothing else depends on it. */
export function rememberRefusedAltnames(
  altnames: readonly string[],
  { bootID, refusedAltnames }: Observed,
  { host, paths, log }: HostContext,
): void {
  log.warn('kernel refused altnames, not retried before the next boot', { altnames })
  try {
    saveRefusedAltnames(host, paths, bootID, [...refusedAltnames, ...altnames])
  } catch (error) {
    log.warn('cannot save refused altnames', { error: messageOf(error) })
  }
}

export function saveRefusedAltnames(host: Host, paths: Paths, bootID: string, altnames: string[]): void {
  const path = pathOf(paths)
  const content: FileContent = { bootId: bootID, altnames }
  host.makeDirectory(paths.state)
  host.writeFile(`${path}.new`, { text: `${JSON.stringify(content)}\n`, mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

function pathOf(paths: Paths): string {
  return `${paths.state}/refused-altnames.json`
}
