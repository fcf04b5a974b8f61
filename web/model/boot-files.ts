/**
 * Whether the boot files of a NIC were as requested when it was last observed. Pure.
 */
import type { Nic } from './nodes.ts'

/** The agent compares the files of a NIC in every run and check, and names a file that differs. Undefined if nobody has looked. */
export function bootFilesOf({
  severity,
  lastSeverity,
  reason,
  message,
  observed,
}: Pick<Nic, 'severity' | 'lastSeverity' | 'reason' | 'message' | 'observed'>): 'equal' | 'differ' | undefined {
  if (!observed) return undefined
  if (reason === 'Drifted' && /\b(?:re)?write \/|\bremove \//.test(message)) return 'differ'
  const isVerified = (lastSeverity ?? severity) === 'configured' || (severity === 'drifted' && message !== '')
  return isVerified ? 'equal' : undefined
}
