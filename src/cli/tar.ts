/**
 * A tar archive of text files that only their owner can read, in the format of POSIX. Pure.
 */
const blockBytes = 512

export function tarOf(files: ReadonlyMap<string, string>, at: Date): Buffer {
  const entries = [...files].flatMap(([path, text]) => {
    const body = Buffer.from(text)
    const longName = Buffer.byteLength(path) > 100 ? entry('path', paxRecord('path', path), 'x', at) : []
    return [...longName, ...entry(path, body, '0', at)]
  })
  return Buffer.concat([...entries, Buffer.alloc(2 * blockBytes)])
}

/** Type 0 is a file; type x has fields of the next entry that its header has no room for. */
function entry(name: string, body: Buffer, type: '0' | 'x', at: Date): Buffer[] {
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0')
  const header = Buffer.alloc(blockBytes)
  header.write(name, 0, 100)
  header.write(octal(0o600, 7), 100)
  for (const owner of [108, 116]) header.write(octal(0, 7), owner)
  header.write(octal(body.length, 11), 124)
  header.write(octal(Math.floor(at.getTime() / 1_000), 11), 136)
  header.write(`        ${type}`, 148)
  header.write('ustar\u000000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${octal(sum, 6)}\0 `, 148)
  return [header, body, Buffer.alloc((blockBytes - (body.length % blockBytes)) % blockBytes)]
}

/** The length at the start of a record includes itself. */
function paxRecord(key: string, value: string): Buffer {
  const rest = ` ${key}=${value}\n`
  const bytes = Buffer.byteLength(rest)
  const length = [1, 2, 3, 4].find(digits => String(bytes + digits).length === digits) ?? 0
  return Buffer.from(`${bytes + length}${rest}`)
}
