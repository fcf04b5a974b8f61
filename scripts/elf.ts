/**
 * Reads from an ELF file what a program is linked to. Works for other architectures too, where `ldd` cannot run.
 */
import { readFileSync } from 'node:fs'

export interface Linked {
  /** `amd64` or `arm64`. */
  architecture: string
  /** Path of the loader that the kernel starts; a library has none. */
  interpreter: string | undefined
  /** File names of the libraries. */
  needed: string[]
}

const machines: Record<number, string> = { 62: 'amd64', 183: 'arm64' }
const [loadable, dynamic, interpreterPath] = [1, 2, 3]
const [end, neededTag, stringTable] = [0n, 1n, 5n]

interface Segment {
  type: number
  offset: number
  address: number
  size: number
}

/** Supports 64-bit little-endian files: all architectures of our images. */
export function linkedTo(path: string): Linked {
  const file = readFileSync(path)
  if (file.readUInt32BE(0) !== 0x7f454c46 || file[4] !== 2 || file[5] !== 1)
    throw new Error(`${path}: not a 64-bit little-endian ELF file`)
  const architecture = machines[file.readUInt16LE(18)]
  if (!architecture) throw new Error(`${path}: architecture without images; amd64 and arm64 are supported`)
  const segments = segmentsOf(file)
  const textAt = (offset: number) => file.toString('utf8', offset, file.indexOf(0, offset))
  const named = segments.find(({ type }) => type === interpreterPath)
  const entries = entriesOf(file, segments)
  const strings = entries.find(([tag]) => tag === stringTable)
  const start = strings ? offsetOf(Number(strings[1]), segments) : 0
  return {
    architecture,
    interpreter: named && textAt(named.offset),
    needed: entries.filter(([tag]) => tag === neededTag).map(([, at]) => textAt(start + Number(at))),
  }
}

function segmentsOf(file: Buffer): Segment[] {
  const [table, entrySize, count] = [Number(file.readBigUInt64LE(32)), file.readUInt16LE(54), file.readUInt16LE(56)]
  return Array.from({ length: count }, (_, index) => {
    const at = table + index * entrySize
    return {
      type: file.readUInt32LE(at),
      offset: Number(file.readBigUInt64LE(at + 8)),
      address: Number(file.readBigUInt64LE(at + 16)),
      size: Number(file.readBigUInt64LE(at + 32)),
    }
  })
}

function entriesOf(file: Buffer, segments: readonly Segment[]): [tag: bigint, value: bigint][] {
  const found = segments.find(({ type }) => type === dynamic)
  const entries: [bigint, bigint][] = []
  for (let at = found?.offset ?? 0; found && at < found.offset + found.size; at += 16) {
    const tag = file.readBigInt64LE(at)
    if (tag === end) break
    entries.push([tag, file.readBigUInt64LE(at + 8)])
  }
  return entries
}

/** The offset in the file that is loaded to an address. */
function offsetOf(address: number, segments: readonly Segment[]): number {
  const within = segments.find(
    segment => segment.type === loadable && address >= segment.address && address < segment.address + segment.size,
  )
  if (!within) throw new Error('damaged ELF file: its string table is in no segment')
  return address - within.address + within.offset
}
