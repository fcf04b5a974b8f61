/**
 * The files that belong to no NIC: the tables of nftables and the rules and routes by the primary NIC for the next boot, the
 * units of systemd that load them, and the record of what multinic has set for all NICs.
 *
 * Pure.
 */
import type { Paths } from '../paths.ts'

export interface BootFiles {
  nft: string
  rules: string
  rules6: string
  routes: string
}

export function bootFiles({ boot }: Paths): BootFiles {
  return {
    nft: `${boot}/multinic.nft`,
    rules: `${boot}/primary-rules.batch`,
    rules6: `${boot}/primary-rules6.batch`,
    routes: `${boot}/primary-routes.batch`,
  }
}

/** Drop-ins in place of the links that `systemctl enable` makes: the agent writes regular files only. */
export function unitFiles({ units }: Paths) {
  return {
    nft: `${units}/multinic-nft.service`,
    wantsNft: `${units}/sysinit.target.d/50-multinic.conf`,
    afterFlush: `${units}/nftables.service.d/50-multinic.conf`,
    primary: `${units}/multinic-primary.service`,
    wantsPrimary: `${units}/multi-user.target.d/50-multinic.conf`,
  }
}

export function nodeFiles(paths: Paths): string[] {
  return [...Object.values(bootFiles(paths)), ...Object.values(unitFiles(paths)), nodeRecordPath(paths)]
}

export function nodeRecordPath(paths: Paths): string {
  return `${paths.state}/node.json`
}
