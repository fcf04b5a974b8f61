/**
 * Objects by key and by index. Every write returns the changes that it made.
 */
import { keyOf, keyText } from './keys.ts'
import type { Key, KubeObject } from './types.ts'
import { maxKeptBytes, weightOf } from './weight.ts'

export interface Change<T> {
  type: 'added' | 'updated' | 'deleted'
  object: T
  old?: T
}

export interface Cache<T> {
  get(key: string | Key): T | undefined
  list(): T[]
  by(index: string, value: string): T[]
  put(object: T): Change<T>[]
  remove(object: T): Change<T>[]
  /** Removes every object that is not in the list. */
  replaceAll(objects: T[]): Change<T>[]
}

export function createCache<T extends KubeObject>(index: Record<string, (object: T) => string[]>): Cache<T> {
  const objects = new Map<string, T>()
  const weights = new Map<string, number>()
  let weight = 0
  const indexes = new Map(
    Object.entries(index).map(([name, valuesOf]) => [name, { valuesOf, keys: new Map<string, Set<string>>() }]),
  )

  function insert(key: string, object: T): void {
    const own = weightOf(object)
    if (weight + own > maxKeptBytes) throw new Error(`more than ${maxKeptBytes} bytes of objects`)
    weight += own
    weights.set(key, own)
    objects.set(key, object)
    for (const { valuesOf, keys } of indexes.values()) {
      for (const value of valuesOf(object)) {
        const found = keys.get(value)
        if (found) found.add(key)
        else keys.set(value, new Set([key]))
      }
    }
  }

  function erase(key: string, object: T): void {
    objects.delete(key)
    weight -= weights.get(key) ?? 0
    weights.delete(key)
    for (const { valuesOf, keys } of indexes.values()) {
      for (const value of valuesOf(object)) {
        const found = keys.get(value)
        found?.delete(key)
        if (found?.size === 0) keys.delete(value)
      }
    }
  }

  function put(object: T): Change<T>[] {
    const key = keyOf(object)
    const old = objects.get(key)
    if (old && old.metadata.uid !== object.metadata.uid) {
      // Deleted and created again under the same name between two events.
      erase(key, old)
      insert(key, object)
      return [
        { type: 'deleted', object: old, old },
        { type: 'added', object },
      ]
    }
    if (old && old.metadata.resourceVersion === object.metadata.resourceVersion) return []
    if (old) erase(key, old)
    insert(key, object)
    return old ? [{ type: 'updated', object, old }] : [{ type: 'added', object }]
  }

  function remove(object: T): Change<T>[] {
    const key = keyOf(object)
    const old = objects.get(key)
    if (!old) return []
    erase(key, old)
    return [{ type: 'deleted', object, old }]
  }

  return {
    get: key => objects.get(typeof key === 'string' ? key : keyText(key)),
    list: () => [...objects.values()],
    by(name, value) {
      const found = indexes.get(name)
      if (!found) throw new Error(`unknown index ${name}`)
      return [...(found.keys.get(value) ?? [])].flatMap(key => objects.get(key) ?? [])
    },
    put,
    remove,
    replaceAll(all) {
      const present = new Set(all.map(keyOf))
      const removed = [...objects].filter(([key]) => !present.has(key)).map(([, object]) => object)
      return [...removed.flatMap(remove), ...all.flatMap(put)]
    },
  }
}
