/**
 * OpenAPI v2 in protobuf, which is what kubectl before 1.27 reads: to check fields by itself, to explain, and to learn
 * that dry runs are served. Built-in kinds have no schema here, so that it leaves their checking to the server.
 */
import { Buffer } from 'node:buffer'
import { apiVersion, type Kind, type KindVersion } from './kinds.ts'
import { gvk, schemaName } from './openapi.ts'
import type { Schema } from './schema.ts'
import { boolField, bytesField, textField } from './wire.ts'

const field = {
  document: { swagger: 1, info: 2, paths: 8, definitions: 9 },
  pathItem: { patch: 8 },
  operation: { parameters: 8, extension: 13 },
  query: { in: 2, name: 4, type: 6 },
  schema: {
    format: 2,
    description: 4,
    pattern: 13,
    required: 19,
    additionalProperties: 21,
    type: 22,
    items: 23,
    properties: 25,
    extension: 31,
  },
} as const

export function openApiV2(kinds: readonly Kind[]): Buffer {
  const served = kinds.flatMap(kind =>
    kind.versions.filter(version => version.served).map(version => ({ kind, version })),
  )
  const paths = served.map(({ kind, version }) => named(2, patchPath(kind, version), patchItem(kind, version)))
  const definitions = served
    .filter(({ kind }) => kind.custom)
    .map(({ kind, version }) => named(1, schemaName(kind, version), definition(kind, version)))
  const { document } = field
  return Buffer.concat([
    textField(document.swagger, '2.0'),
    bytesField(document.info, textField(1, 'MultiNIC sandbox'), textField(2, 'v1')),
    bytesField(document.paths, ...paths),
    bytesField(document.definitions, ...definitions),
  ])
}

function named(number: number, name: string, value: Buffer): Buffer {
  return bytesField(number, textField(1, name), bytesField(2, value))
}

/** Extensions are YAML, and JSON is YAML. */
function extension(number: number, name: string, value: unknown): Buffer {
  return named(number, name, textField(2, JSON.stringify(value)))
}

function patchPath(kind: Kind, version: KindVersion): string {
  const root = kind.group ? `/apis/${apiVersion(kind.group, version.name)}` : `/api/${version.name}`
  return `${root}${kind.namespaced ? '/namespaces/{namespace}' : ''}/${kind.plural}/{name}`
}

function patchItem(kind: Kind, version: KindVersion): Buffer {
  const { operation, query, pathItem } = field
  const dryRun = bytesField(
    3,
    textField(query.in, 'query'),
    textField(query.name, 'dryRun'),
    textField(query.type, 'string'),
  )
  return bytesField(
    pathItem.patch,
    bytesField(operation.parameters, bytesField(1, bytesField(2, dryRun))),
    extension(operation.extension, 'x-kubernetes-group-version-kind', gvk(kind, version)),
  )
}

function definition(kind: Kind, version: KindVersion): Buffer {
  const text: Schema = { type: 'string' }
  const properties = { ...version.schema?.properties, apiVersion: text, kind: text, metadata: { type: 'object' } }
  return Buffer.concat([
    schemaBytes({ ...version.schema, properties }),
    extension(field.schema.extension, 'x-kubernetes-group-version-kind', [gvk(kind, version)]),
  ])
}

function schemaBytes(given: Schema): Buffer {
  const { schema } = field
  const { properties, items, additionalProperties: further } = given
  const parts: Buffer[] = []
  if (given.format) parts.push(textField(schema.format, given.format))
  if (given.description) parts.push(textField(schema.description, given.description))
  if (given.pattern) parts.push(textField(schema.pattern, given.pattern))
  for (const name of given.required ?? []) parts.push(textField(schema.required, name))
  if (given.type) parts.push(bytesField(schema.type, textField(1, given.type)))
  if (further === true) parts.push(bytesField(schema.additionalProperties, boolField(2, true)))
  else if (further) parts.push(bytesField(schema.additionalProperties, bytesField(1, schemaBytes(further))))
  if (items) parts.push(bytesField(schema.items, bytesField(1, schemaBytes(items))))
  if (properties && !given['x-kubernetes-preserve-unknown-fields']) {
    const inner = Object.entries(properties).map(([name, one]) => named(1, name, schemaBytes(one)))
    parts.push(bytesField(schema.properties, ...inner))
  }
  return Buffer.concat(parts)
}
