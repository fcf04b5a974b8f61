/**
 * The field managers of a node config: who owns fields of it, and who edited its spec last.
 */
import { parse } from 'yaml'
import * as z from 'zod'
import { nodeConfigs } from '../../contract/node-config.ts'
import type { KubeClient } from '../../kube/client.ts'
import { objectPath } from '../../kube/paths.ts'
import type { Key } from '../../kube/types.ts'

export interface FieldManager {
  name: string
  operation: string
  ownsSpec: boolean
  /** When it last changed its fields. */
  time: string
}

const managedFields = z.array(
  z.looseObject({
    manager: z.string(),
    operation: z.string(),
    time: z.string().default(''),
    fieldsV1: z.looseObject({}).default({}),
  }),
)

/** Read as YAML: the client drops managedFields from JSON, which are half of its text and unused elsewhere. */
export async function readFieldManagers(kube: Pick<KubeClient, 'raw'>, key: Key): Promise<FieldManager[]> {
  const path = objectPath(nodeConfigs, key)
  const { body } = await kube.raw('GET', path, undefined, { accept: 'application/yaml' })
  const object = parse(String(body)) as { metadata?: { managedFields?: unknown } } | null
  return managedFields.parse(object?.metadata?.managedFields ?? []).map(({ manager, operation, time, fieldsV1 }) => ({
    name: manager,
    operation,
    time,
    ownsSpec: 'f:spec' in fieldsV1,
  }))
}
