/**
 * The files that multinic may have written on a node of any backend, and the NICs that it configured there.
 *
 * Pure. Files and names of the Go implementation are owned too.
 */
import { interfaceName } from '../../contract/interfaces.ts'
import type { Paths } from '../paths.ts'
import type { Observed } from '../state/observed.ts'
import { rulesInFile } from '../state/owned-rules.ts'
import {
  allIndexes,
  isForeign,
  macAddressIn,
  type OwnedNic,
  recordsDirectory,
  sysctlFileOf,
} from '../state/ownership.ts'
import { isKernelTable, type NicRecord, parseRecord } from '../state/records.ts'
import { allBackends } from './backends.ts'

/** Every path that the agent may write for one index, and those of the Go implementation. */
export function filesOfIndex(paths: Paths, index: number): string[] {
  const name = interfaceName(index)
  return [
    `${paths.networkd}/05-${name}.link`,
    `${paths.networkd}/9${index}-${name}.link`,
    `${paths.udevRules}/05-${name}.rules`,
    ...allBackends.flatMap(({ owns }) => owns(paths, index)),
    sysctlFileOf(paths, index),
  ]
}

/** The same for all indexes. */
export function ownFiles(paths: Paths): Set<string> {
  return new Set(allIndexes.flatMap(index => filesOfIndex(paths, index)))
}

export function ownedNics(observed: Observed, paths: Paths): OwnedNic[] {
  const owned = new Map<string, OwnedNic>()
  const add = (index: number, macAddress: string, record?: NicRecord) => {
    const rules = new Set(record?.rules ?? bootRules(observed, paths, index, macAddress))
    const tables = new Set([...(record ? [record.table] : []), ...[...rules].flatMap(tableIn)])
    owned.set(macAddress, { index, macAddress, ...(record ? { record } : {}), rules, tables })
  }
  for (const [path, file] of Object.entries(observed.files)) {
    if (!path.startsWith(`${recordsDirectory(paths)}/`)) continue
    const record = isForeign(file) ? undefined : parseRecord(file.text)
    if (record) add(record.id, record.mac, record)
  }
  for (const index of allIndexes) {
    for (const path of filesOfIndex(paths, index)) {
      const file = observed.files[path]
      const macAddress = file && !isForeign(file) ? macAddressIn(file.text) : undefined
      if (macAddress && !owned.has(macAddress)) add(index, macAddress)
    }
  }
  return [...owned.values()].sort((a, b) => a.index - b.index)
}

/** The rules in our boot files of an index. Files of another MAC address do not count; without one, all files do. */
export function bootRules({ files }: Observed, paths: Paths, index: number, macAddress?: string): string[] {
  return filesOfIndex(paths, index).flatMap(path => {
    const file = files[path]
    if (!file || isForeign(file)) return []
    const configured = macAddressIn(file.text)
    return macAddress && configured && configured !== macAddress ? [] : rulesInFile(file.text)
  })
}

function tableIn(rule: string): number[] {
  const table = Number(/ lookup (\d+)/.exec(rule)?.[1])
  return Number.isNaN(table) || isKernelTable(table) ? [] : [table]
}
