/**
 * Schemas of the built-in types, generated from types-table.ts on first use.
 */
import type { Schema } from './schema.ts'
import { typesTable } from './types-table.ts'

interface Declared {
  /** Full name with package, as in OpenAPI. */
  name: string
  atomic: boolean
  fields: string[]
}

const plain: Record<string, Schema> = {
  string: { type: 'string' },
  int: { type: 'integer' },
  number: { type: 'number' },
  bool: { type: 'boolean' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  quantity: { 'x-kubernetes-int-or-string': true },
  intOrString: { 'x-kubernetes-int-or-string': true },
  any: { 'x-kubernetes-preserve-unknown-fields': true },
}

const declared = readTable(typesTable)
const schemas = new Map<string, Schema>()
const names = new WeakMap<Schema, string>()

/** The schema of a type by its short name; always the same object. */
export function typeSchema(short: string): Schema {
  const known = plain[short] ?? schemas.get(short)
  if (known) return known
  const { name, atomic, fields } = declared.get(short) ?? {}
  if (!name || !fields) throw new Error(`type ${short} not found in types-table.ts`)
  const schema: Schema = { type: 'object', properties: {}, ...(atomic && { 'x-kubernetes-map-type': 'atomic' }) }
  schemas.set(short, schema)
  names.set(schema, name)
  for (const field of fields) {
    const [, own = '', star, type = '', otherwise] = /^([^*:]+)(\*?):([^=]+(?:=\])?)(?:=(\w+))?$/.exec(field) ?? []
    const inner = fieldType(type)
    schema.properties = { ...schema.properties, [own]: otherwise ? { ...inner, default: otherwise } : inner }
    if (star) schema.required = [...(schema.required ?? []), own]
  }
  return schema
}

/** The full name of a built-in type; undefined for any other schema. */
export function typeName(schema: Schema): string | undefined {
  return names.get(schema)
}

function fieldType(text: string): Schema {
  if (text.endsWith('{}')) return { type: 'object', additionalProperties: fieldType(text.slice(0, -2)) }
  const [, item, keys] = /^(\w+)\[([^\]]*)\]$/.exec(text) ?? []
  if (item === undefined || keys === undefined) return typeSchema(text)
  const items = typeSchema(item)
  const list: Schema = { type: 'array', items, 'x-kubernetes-list-type': 'atomic' }
  if (keys === '') return list
  // Clients that compute strategic merge patches read these two extensions.
  const merge = (key: string) => ({ 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': key })
  if (keys === '=') return { ...list, 'x-kubernetes-list-type': 'set', 'x-kubernetes-patch-strategy': 'merge' }
  if (keys.startsWith('?')) return { ...list, ...merge(keys.slice(1)) }
  const [first = '', ...more] = keys.split('+')
  return {
    ...list,
    ...merge(first),
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': [first, ...more],
  }
}

function readTable(table: string): Map<string, Declared> {
  const types = new Map<string, Declared>()
  let prefix = ''
  for (const line of table.trim().replaceAll('\n  ', ' ').split('\n')) {
    if (line.startsWith('# ')) {
      prefix = line.slice(2)
      continue
    }
    const [, short = '', atomic, fields = ''] = /^(\w+)( \(atomic\))?: (.*)$/.exec(line) ?? []
    types.set(short, { name: `${prefix}.${short}`, atomic: atomic !== undefined, fields: fields.split(' ') })
  }
  return types
}
