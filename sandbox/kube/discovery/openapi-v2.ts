/**
 * OpenAPI v2 in protobuf, which kubectl before 1.27 needs: for client-side validation, for `explain`, and to detect support for
 * dry runs.
 */
import { Buffer } from 'node:buffer'
import { boolField, bytesField, textField } from '../http/protobuf-wire.ts'
import { apiVersion, type Kind, type KindVersion } from '../kinds/kinds.ts'
import type { Schema } from '../kinds/schema.ts'
import { typeName } from '../kinds/types.ts'
import { describedSchema, gvk, schemaName } from './openapi.ts'

const field = {
  document: { swagger: 1, info: 2, paths: 8, definitions: 9 },
  pathItem: { patch: 8 },
  operation: { parameters: 8, extension: 13 },
  query: { in: 2, name: 4, type: 6 },
  schema: {
    ref: 1,
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
  const types = new Map<string, Buffer>()
  const definitions = served.map(({ kind, version }) => {
    return named(1, schemaName(kind, version), definition(kind, version, types))
  })
  for (const [name, bytes] of types) definitions.push(named(1, name, bytes))
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

/** The value of an extension is YAML, so JSON is valid. */
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

function definition(kind: Kind, version: KindVersion, types: Map<string, Buffer>): Buffer {
  return Buffer.concat([
    schemaBytes(describedSchema(version), types),
    extension(field.schema.extension, 'x-kubernetes-group-version-kind', [gvk(kind, version)]),
  ])
}

/** Built-in types become references; adds their definitions to `types`. */
function withReference(schema: Schema, types: Map<string, Buffer>): Buffer {
  const name = typeName(schema)
  if (name === undefined) return schemaBytes(schema, types)
  if (!types.has(name)) {
    types.set(name, Buffer.alloc(0))
    types.set(name, schemaBytes(schema, types))
  }
  return textField(field.schema.ref, `#/definitions/${name}`)
}

function schemaBytes(given: Schema, types: Map<string, Buffer>): Buffer {
  const { schema } = field
  const { properties, items, additionalProperties: further } = given
  const isIntOrString = given['x-kubernetes-int-or-string']
  const [type, format] = isIntOrString ? ['string', 'int-or-string'] : [given.type, given.format]
  const parts: Buffer[] = []
  if (format) parts.push(textField(schema.format, format))
  if (given.description) parts.push(textField(schema.description, given.description))
  if (given.pattern) parts.push(textField(schema.pattern, given.pattern))
  for (const name of given.required ?? []) parts.push(textField(schema.required, name))
  if (type) parts.push(bytesField(schema.type, textField(1, type)))
  if (further === true) parts.push(bytesField(schema.additionalProperties, boolField(2, true)))
  else if (further) parts.push(bytesField(schema.additionalProperties, bytesField(1, withReference(further, types))))
  for (const name of ['x-kubernetes-patch-strategy', 'x-kubernetes-patch-merge-key'] as const) {
    if (given[name]) parts.push(extension(schema.extension, name, given[name]))
  }
  if (items) parts.push(bytesField(schema.items, bytesField(1, withReference(items, types))))
  if (properties && !given['x-kubernetes-preserve-unknown-fields']) {
    const inner = Object.entries(properties).map(([name, one]) => named(1, name, withReference(one, types)))
    parts.push(bytesField(schema.properties, ...inner))
  }
  return Buffer.concat(parts)
}
