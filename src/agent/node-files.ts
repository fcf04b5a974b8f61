/**
 * The files that belong to no NIC: the tables of nftables and the routes by the primary NIC for the next boot, the units of
 * systemd that load them, and the record of what multinic has set for all NICs.
 *
 * Pure.
 */
import type { Family } from '../contract/address.ts'
import type { Paths } from './paths.ts'

/** The udev rule of each NIC starts them. */
export const nftUnitName = 'multinic-nft.service'
export const primaryUnitName = 'multinic-primary.service'

export function nodeFiles(paths: Paths): string[] {
  return [
    nftFilePath(paths),
    ...Object.values(primaryFilePaths(paths)),
    ...[nftUnitName, primaryUnitName].map(name => unitPath(paths, name)),
    nodeRecordPath(paths),
  ]
}

export function nftFilePath(paths: Paths): string {
  return `${paths.boot}/multinic.nft`
}

export function primaryFilePaths(paths: Paths): Record<Family, string> {
  return { 4: `${paths.boot}/primary.batch`, 6: `${paths.boot}/primary6.batch` }
}

export function unitPath(paths: Paths, name: string): string {
  return `${paths.units}/${name}`
}

export function nodeRecordPath(paths: Paths): string {
  return `${paths.state}/node.json`
}
