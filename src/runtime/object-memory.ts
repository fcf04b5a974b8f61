/**
 * What the operator remembers of each OpenstackConfig, in one entry by its key: to forget an object is one deletion. What it
 * costs to lose an entry is time.
 */
export interface ObjectMemory {
  /** One value of each object. */
  slot<T>(): Slot<T>
  forget(key: string): void
}

export interface Slot<T> {
  get(key: string): T | undefined
  set(key: string, value: T): void
  delete(key: string): void
  clear(): void
}

export function createObjectMemory(): ObjectMemory {
  const objects = new Map<string, Map<symbol, unknown>>()
  return {
    slot<T>() {
      const id = Symbol()
      return {
        get: key => objects.get(key)?.get(id) as T | undefined,
        set(key, value) {
          const values = objects.get(key) ?? new Map<symbol, unknown>()
          objects.set(key, values.set(id, value))
        },
        delete(key) {
          const values = objects.get(key)
          if (values?.delete(id) && values.size === 0) objects.delete(key)
        },
        clear() {
          for (const key of objects.keys()) this.delete(key)
        },
      }
    },
    forget: key => void objects.delete(key),
  }
}
