/**
 * The field managers of an object: which program wrote which fields, and when.
 */
import { parse } from 'yaml'
import * as z from 'zod'
import type { KubeObject, Resource } from '../contract/object.ts'
import type { KubeClient } from './client.ts'
import { objectPath } from './paths.ts'
import type { Key } from './types.ts'

export interface FieldManager {
  name: string
  operation: string
  ownsSpec: boolean
  annotations: ReadonlySet<string>
  /** When it last changed its fields. */
  time: string
}

const fields = z.record(z.string(), z.unknown())
const managedFields = z.array(
  z.looseObject({
    manager: z.string(),
    operation: z.string(),
    time: z.string().default(''),
    fieldsV1: z
      .looseObject({ 'f:metadata': z.looseObject({ 'f:annotations': fields.optional() }).optional() })
      .default({}),
  }),
)

/** Read as YAML: the client drops managedFields from JSON, which are half of its text and unused elsewhere. */
export async function readFieldManagers<T extends KubeObject>(
  kube: Pick<KubeClient, 'raw'>,
  resource: Resource<T>,
  key: Key,
): Promise<FieldManager[]> {
  const path = objectPath(resource, key)
  const { body } = await kube.raw('GET', path, undefined, { accept: 'application/yaml' })
  const object = parse(String(body)) as { metadata?: { managedFields?: unknown } } | null
  return managedFields.parse(object?.metadata?.managedFields ?? []).map(({ manager, operation, time, fieldsV1 }) => ({
    name: manager,
    operation,
    time,
    ownsSpec: 'f:spec' in fieldsV1,
    annotations: new Set(Object.keys(fieldsV1['f:metadata']?.['f:annotations'] ?? {}).map(name => name.slice(2))),
  }))
}
