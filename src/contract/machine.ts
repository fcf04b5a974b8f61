/**
 * Compares machine UUIDs, and tells IDs of servers from names. Free of dependencies.
 */

/**
 * Both forms of a machine UUID: in lower case, and with the bytes of its first three groups swapped, as firmware that follows
 * older SMBIOS versions reports it. Two UUIDs name one machine if they share a form.
 */
export function spellingsOf(uuid: string): string[] {
  const text = uuid.trim().toLowerCase()
  if (!text) return []
  const firstGroups = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-(?=.+$)/
  const other = text.replace(firstGroups, groups => groups.split('-').map(swapped).join('-'))
  return [...new Set([text, other])]
}

export function isSameMachine(a: string, b: string): boolean {
  const spellings = spellingsOf(a)
  return spellingsOf(b).some(spelling => spellings.includes(spelling))
}

function swapped(hex: string): string {
  return (hex.match(/../g) ?? []).reverse().join('')
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The server id in the spelling of Nova and Neutron. Undefined for an entry that is a name. */
export function serverIdOf(entry: string): string | undefined {
  return uuid.test(entry.trim()) ? entry.trim().toLowerCase() : undefined
}
