/**
 * Keys as text, for queues and caches: `namespace/name`, or `name` for cluster-scoped objects.
 */
import type { Key, KubeObject } from './types.ts'

export function keyOf(object: KubeObject): string {
  return keyText(object.metadata)
}

export function keyText({ namespace, name }: Key): string {
  return namespace ? `${namespace}/${name}` : name
}

export function parseKey(text: string): Key {
  const slash = text.indexOf('/')
  return slash < 0 ? { name: text } : { namespace: text.slice(0, slash), name: text.slice(slash + 1) }
}
