/**
 * Compares machine UUIDs. Free of dependencies.
 */

/**
 * Both forms of a machine UUID: in lower case, and with the bytes of its first three groups swapped, as firmware that follows
 * older SMBIOS versions reports it. Two UUIDs name one machine if they share a form.
 */
export function spellingsOf(uuid: string): string[] {
  const text = uuid.trim().toLowerCase()
  const groups = /^([0-9a-f]{8})-([0-9a-f]{4})-([0-9a-f]{4})-(.+)$/.exec(text)
  if (!groups) return text ? [text] : []
  const [, a = '', b = '', c = '', rest = ''] = groups
  const other = `${swapped(a)}-${swapped(b)}-${swapped(c)}-${rest}`
  return other === text ? [text] : [text, other]
}

export function isSameMachine(a: string, b: string): boolean {
  const spellings = spellingsOf(a)
  return spellingsOf(b).some(spelling => spellings.includes(spelling))
}

function swapped(hex: string): string {
  let bytes = ''
  for (let at = hex.length; at > 0; at -= 2) bytes += hex.slice(at - 2, at)
  return bytes
}
