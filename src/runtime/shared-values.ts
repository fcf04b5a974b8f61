/**
 * Values that several users share by key, such as clients. A value is dropped when no user is left: its last user took
 * another one, or was forgotten. So the number of values never exceeds the number of users.
 */
export interface SharedValues<T> {
  /** The value of the key, created if needed. The user drops the one that it had. */
  use(user: string, key: string, create: () => T): T
  /** The value that the user took last. */
  of(user: string): T | undefined
  forget(user: string): void
  all(): T[]
}

export function createSharedValues<T>(): SharedValues<T> {
  const entries = new Map<string, { value: T; users: Set<string> }>()
  const keys = new Map<string, string>()

  function leave(user: string): void {
    const key = keys.get(user) ?? ''
    const entry = entries.get(key)
    keys.delete(user)
    entry?.users.delete(user)
    if (entry?.users.size === 0) entries.delete(key)
  }

  return {
    use(user, key, create) {
      if (keys.get(user) !== key) leave(user)
      const entry = entries.get(key) ?? { value: create(), users: new Set() }
      entries.set(key, entry)
      entry.users.add(user)
      keys.set(user, key)
      return entry.value
    },
    of: user => entries.get(keys.get(user) ?? '')?.value,
    forget: leave,
    all: () => [...entries.values()].map(({ value }) => value),
  }
}
