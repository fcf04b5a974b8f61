/**
 * Where a resource and its objects are in the API.
 */
import type { Key, KubeObject, Resource } from './types.ts'

export function apiVersionOf({ group, version }: Pick<Resource, 'group' | 'version'>): string {
  return group ? `${group}/${version}` : version
}

/** A collection: of one namespace, or of all of them when none is given. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const root = resource.group ? `/apis/${resource.group}/${resource.version}` : `/api/${resource.version}`
  const within = resource.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : ''
  return `${root}${within}/${resource.plural}`
}

export function objectPath(resource: Resource, { namespace, name }: Key, subresource?: string): string {
  if (!name) throw new Error(`${resource.kind}: a name is needed`)
  if (resource.namespaced && !namespace) throw new Error(`${resource.kind} ${name}: a namespace is needed`)
  const tail = subresource ? `/${subresource}` : ''
  return `${collectionPath(resource, namespace)}/${encodeURIComponent(name)}${tail}`
}

/** Items of a list come without apiVersion and kind; managedFields are half of an object and nobody here reads them. */
export function tidied<T extends KubeObject>(resource: Resource<T>, object: T): T {
  object.apiVersion ??= apiVersionOf(resource)
  object.kind ??= resource.kind
  if (object.metadata && 'managedFields' in object.metadata) delete object.metadata.managedFields
  return object
}
