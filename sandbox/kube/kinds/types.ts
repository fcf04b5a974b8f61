/**
 * Schemas of the built-in types, made from their table when somebody asks for one.
 */
import type { Schema } from './schema.ts'
import { typesTable } from './types-table.ts'

interface Declared {
  /** With its package, as OpenAPI names it. */
  name: string
  whole: boolean
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
const made = new Map<string, Schema>()
const names = new WeakMap<Schema, string>()

/** The schema of a type by its short name, the same one for everybody. */
export function typeSchema(short: string): Schema {
  const known = plain[short] ?? made.get(short)
  if (known) return known
  const { name, whole, fields } = declared.get(short) ?? {}
  if (!name || !fields) throw new Error(`no type is called ${short}`)
  const schema: Schema = { type: 'object', properties: {}, ...(whole && { 'x-kubernetes-map-type': 'atomic' }) }
  made.set(short, schema)
  names.set(schema, name)
  for (const field of fields) {
    const [, own = '', star, type = '', otherwise] = /^([^*:]+)(\*?):([^=]+(?:=\])?)(?:=(\w+))?$/.exec(field) ?? []
    const inner = fieldType(type)
    schema.properties = { ...schema.properties, [own]: otherwise ? { ...inner, default: otherwise } : inner }
    if (star) schema.required = [...(schema.required ?? []), own]
  }
  return schema
}

/** The full name of a type of the table; undefined for any other schema. */
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
  // Clients that compute strategic merge patches read these two.
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
    const [, short = '', whole, fields = ''] = /^(\w+)( \(whole\))?: (.*)$/.exec(line) ?? []
    types.set(short, { name: `${prefix}.${short}`, whole: whole !== undefined, fields: fields.split(' ') })
  }
  return types
}
