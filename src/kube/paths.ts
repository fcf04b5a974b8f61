/**
 * Paths of resources and objects in the API.
 */
import type { Key, KubeObject, Resource } from './types.ts'

export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group ? `${group}/${version}` : version
}

/** The collection in one namespace, or in all namespaces. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`
  const within = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${within}/${resource.plural}`
}

export function objectPath(resource: Resource, { namespace, name }: Key, subresource?: string): string {
  if (!name) throw new Error(`${resource.kind}: metadata.name is required`)
  if (resource.namespaced && !namespace) throw new Error(`${resource.kind} ${name}: metadata.namespace is required`)
  const suffix = subresource ? `/${subresource}` : ''
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}${suffix}`
}

/** Adds apiVersion and kind, which items of a list lack, and removes the managedFields, which nothing here reads. */
export function normalized<T extends KubeObject>(resource: Resource<T>, object: T): T {
  object.apiVersion ??= apiVersionOf(resource)
  object.kind ??= resource.kind
  if (object.metadata && 'managedFields' in object.metadata) delete object.metadata.managedFields
  return object
}
