/**
 * What the kernel of this boot refused, and a NIC works without: altnames (none before Linux 5.5, or another device has the
 * name) and the tables of nftables. Trying again in every run would make every run a change.
 */
import { messageOf } from '../../runtime/errors.ts'
import type { HostContext } from '../context.ts'
import type { Host } from '../host/host.ts'
import type { Paths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'

interface FileContent {
  bootId: string
  altnames: string[]
  /** The error of nft. */
  nft?: string
}

export type BootRefusals = Pick<Observed, 'refusedAltnames' | 'nftError'>

export function readRefusals(host: Host, paths: Paths, bootID: string): BootRefusals {
  try {
    const content = JSON.parse(host.readValue(pathOf(paths)) ?? 'null') as FileContent | null
    if (content?.bootId !== bootID) return { refusedAltnames: [] }
    return {
      refusedAltnames: content.altnames.map(String),
      ...(typeof content.nft === 'string' ? { nftError: content.nft } : {}),
    }
  } catch {
    return { refusedAltnames: [] }
  }
}

/** If it cannot be saved, the next run tries once more; nothing else depends on it. */
export function rememberRefusals(
  { refusedAltnames, nftError }: BootRefusals,
  before: BootRefusals & Pick<Observed, 'bootID'>,
  { host, paths, log }: HostContext,
): void {
  if (refusedAltnames.length > 0)
    log.warn('kernel refused altnames, not retried before the next boot', { altnames: refusedAltnames })
  if (nftError !== undefined) log.warn('kernel refused nftables rules, not retried before the next boot', { nftError })
  try {
    const nft = nftError ?? before.nftError
    saveRefusals(host, paths, before.bootID, {
      refusedAltnames: [...before.refusedAltnames, ...refusedAltnames],
      ...(nft === undefined ? {} : { nftError: nft }),
    })
  } catch (error) {
    log.warn('cannot save what the kernel refused', { error: messageOf(error) })
  }
}

export function saveRefusals(
  host: Host,
  paths: Paths,
  bootID: string,
  { refusedAltnames, nftError }: BootRefusals,
): void {
  const path = pathOf(paths)
  const content: FileContent = {
    bootId: bootID,
    altnames: refusedAltnames,
    ...(nftError === undefined ? {} : { nft: nftError }),
  }
  host.makeDirectory(paths.state)
  host.writeFile(`${path}.new`, { text: `${JSON.stringify(content)}\n`, mode: 0o600, uid: 0, gid: 0 })
  host.rename(`${path}.new`, path)
}

function pathOf(paths: Paths): string {
  return `${paths.state}/refused-altnames.json`
}
