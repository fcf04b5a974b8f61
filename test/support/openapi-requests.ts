/**
 * Random requests for an OpenAPI document: mostly valid, often almost valid, sometimes arbitrary.
 */
import fc from 'fast-check'

export interface ApiRequest {
  /** The path template of the document. */
  path: string
  method: string
  url: string
  headers: Record<string, string>
  body?: string
}

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  pattern?: string
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  items?: Schema
  properties?: Record<string, Schema>
  required?: string[]
  propertyNames?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
}

interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  schema: Schema
}

interface Operation {
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
}

/** Requests of each operation. `known` has values that exist on the server, by parameter name; its `body` has complete bodies. */
export function requestsOf(
  document: Record<string, unknown>,
  known: Record<string, readonly string[]>,
): fc.Arbitrary<ApiRequest>[] {
  const paths = document['paths'] as Record<string, Record<string, Operation>>
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => requestOf(path, method, operation, known)),
  )
}

function requestOf(
  path: string,
  method: string,
  { parameters = [], requestBody }: Operation,
  known: Record<string, readonly string[]>,
): fc.Arbitrary<ApiRequest> {
  const valuesNamed = (name: string) => {
    const values = known[name] ?? []
    return fc.oneof(
      ...(values.length > 0 ? [{ weight: 5, arbitrary: fc.constantFrom(...values) }] : []),
      { weight: 2, arbitrary: oddText },
      { weight: 1, arbitrary: fc.nat().map(String) },
    )
  }
  const parametersIn = (location: Parameter['in']) => parameters.filter(parameter => parameter.in === location)
  const some = (location: Parameter['in']) =>
    fc.record(
      Object.fromEntries(parametersIn(location).map(({ name }) => [name, fc.option(valuesNamed(name), { freq: 4 })])),
    )
  const inPath = fc.record(Object.fromEntries(parametersIn('path').map(({ name }) => [name, valuesNamed(name)])))
  const body = requestBody
    ? fc.oneof(
        ...(known['body'] ? [{ weight: 8, arbitrary: fc.constantFrom(...known['body']) }] : []),
        { weight: 8, arbitrary: valueFor(requestBody.content['application/json'].schema).map(json) },
        { weight: 1, arbitrary: fc.json() },
        { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
      )
    : fc.constant(undefined)
  return fc.record({ inPath, query: some('query'), headers: some('header'), body }).map(values => {
    const target = path.replace(/\{(\w+)\}/g, (_, name: string) => encode(values.inPath[name] ?? ''))
    const query = Object.entries(values.query).flatMap(([name, value]) =>
      value === null ? [] : [`${name}=${encode(value)}`],
    )
    const headers = Object.entries(values.headers).flatMap(([name, value]) =>
      value === null ? [] : [[name, sendable(value)] as const],
    )
    return {
      path,
      method: method.toUpperCase(),
      url: query.length > 0 ? `${target}?${query.join('&')}` : target,
      headers: {
        ...Object.fromEntries(headers),
        ...(values.body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(values.body !== undefined && { body: values.body }),
    }
  })
}

/** Texts that parsers, databases and pages often handle wrongly. */
const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ maxLength: 20 }),
  fc.constantFrom('', ' ', '\0', '%', '%00', '%zz', '../..', "' or 1=1 --", '\u{1f600}', '\ud800', '-1', '1e9', 'null'),
)

/** A value that matches the schema, or sometimes an arbitrary one. */
function valueFor(schema: Schema): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 19, arbitrary: validFor(schema) }, { weight: 1, arbitrary: fc.jsonValue() })
}

function validFor(schema: Schema): fc.Arbitrary<unknown> {
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return fc.oneof(...choices.map(valueFor))
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...schema.enum)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'object') return objectFor(schema)
  if (type === 'array') return fc.array(valueFor(schema.items ?? {}), { minLength: schema.minItems ?? 0, maxLength: 4 })
  if (type === 'string') return textFor(schema)
  if (type === 'boolean') return fc.boolean()
  if (type === 'integer' || type === 'number')
    return fc.integer({
      min: Math.max(schema.minimum ?? 0, -(2 ** 31)),
      max: Math.min(schema.maximum ?? 2 ** 31, 2 ** 31),
    })
  return fc.jsonValue()
}

function textFor({ pattern, minLength = 0, maxLength = 300 }: Schema): fc.Arbitrary<string> {
  if (pattern)
    return fc.oneof({ weight: 9, arbitrary: fc.stringMatching(new RegExp(pattern)) }, { weight: 1, arbitrary: oddText })
  return fc.string({ minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)), unit: 'grapheme' })
}

function objectFor({
  properties = {},
  required = [],
  propertyNames,
  additionalProperties,
}: Schema): fc.Arbitrary<unknown> {
  const named = fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valueFor(schema)])),
    { requiredKeys: required.filter(name => name in properties) },
  )
  if (typeof additionalProperties !== 'object') return named
  const keys = propertyNames?.enum ? fc.constantFrom(...(propertyNames.enum as string[])) : fc.string()
  return fc.dictionary(keys, valueFor(additionalProperties), { maxKeys: 3 })
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** The client sends no header with other bytes or line breaks. */
function sendable(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '').trim()
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}
