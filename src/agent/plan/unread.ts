/**
 * What stops a NIC because an agent of another version left it: a record or a journal that this agent cannot read completely.
 *
 * Pure. Nothing of that NIC is changed and the file stays (docs/decisions/0146-contract-of-a-node.md).
 */

import type { Paths } from '../paths.ts'
import type { Unread } from '../state/change-keys.ts'
import { nodeRecordPath } from '../state/node-files.ts'
import type { Observed } from '../state/observed.ts'
import { isForeign, recordPath } from '../state/ownership.ts'
import { readNodeRecord, readRecord } from '../state/records.ts'
import { foreignFileAt, type Refusal } from './preflight.ts'

export interface UnreadInput {
  observed: Pick<Observed, 'files'>
  paths: Paths
  /** Of the journal. */
  unread?: readonly Unread[]
}

export function unreadOf({ macAddress }: { macAddress: string }, input: UnreadInput): Refusal | undefined {
  const { observed, paths, unread = [] } = input
  const path = recordPath(paths, macAddress)
  const file = observed.files[path]
  const problem = file && !isForeign(file) ? readRecord(file.text).problem : undefined
  if (problem !== undefined) return stateUnreadable(`${path} ${problem}`)
  const found = unread.find(entry => entry.macAddress === macAddress)
  return found ? stateUnreadable(found.message) : stopsAll(input)
}

/** Nobody knows what such a NIC has of the state that all NICs share. */
export function hasUnknownShare({ macAddress }: { macAddress: string }, { observed, paths }: UnreadInput): boolean {
  const file = observed.files[recordPath(paths, macAddress)]
  return file !== undefined && (isForeign(file) || readRecord(file.text).record === undefined)
}

/** What all NICs share, or nobody knows which NIC it is of. */
export function stopsAll({ observed, paths, unread = [] }: UnreadInput): Refusal | undefined {
  const found = unread.find(entry => entry.macAddress === undefined)
  if (found) return stateUnreadable(found.message)
  const path = nodeRecordPath(paths)
  const file = observed.files[path]
  if (file && isForeign(file)) return foreignFileAt(path, file)
  const { problem } = readNodeRecord(file?.text)
  return problem === undefined ? undefined : stateUnreadable(`${path} ${problem}`)
}

export function stateUnreadable(message: string): Refusal {
  return { reason: 'StateUnreadable', message }
}
