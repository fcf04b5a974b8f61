/**
 * CustomResourceDefinitions: their validation, and the kind that each defines.
 */
import { messageOf } from '../../../src/runtime/errors.ts'
import { type FieldError, fieldError } from '../api-errors.ts'
import { type ApiObject, type Fields, isRecord, listOf, recordOf, textOf } from '../json.ts'
import { compile } from './cel.ts'
import { columns, since } from './columns.ts'
import { jsonPath } from './jsonpath.ts'
import type { Column, Kind, KindVersion } from './kinds.ts'
import { regularExpression, type Schema } from './schema.ts'
import { typeSchema } from './types.ts'

export const definitionsKind = 'apiextensions.k8s.io/customresourcedefinitions'

export function prepareDefinition(object: ApiObject): void {
  const spec = recordOf(object['spec'])
  const names = recordOf(spec['names'])
  if (names['kind']) {
    names['singular'] ??= textOf(names['kind']).toLowerCase()
    names['listKind'] ??= `${textOf(names['kind'])}List`
  }
  spec['conversion'] ??= { strategy: 'None' }
  object['status'] = establishedStatus(object)
}

export function definitionErrors(object: ApiObject): FieldError[] {
  const spec = recordOf(object['spec'])
  const names = recordOf(spec['names'])
  const errors: FieldError[] = []
  const expected = `${textOf(names['plural'])}.${textOf(spec['group'])}`
  if (object.metadata.name !== expected) {
    errors.push(fieldError.invalid('metadata.name', object.metadata.name, 'must be spec.names.plural+"."+spec.group'))
  }
  for (const name of ['group', 'scope']) if (!spec[name]) errors.push(fieldError.required(`spec.${name}`))
  for (const name of ['plural', 'kind']) if (!names[name]) errors.push(fieldError.required(`spec.names.${name}`))
  const scope = spec['scope']
  if (scope && scope !== 'Namespaced' && scope !== 'Cluster') {
    errors.push(fieldError.unsupported('spec.scope', scope, ['Cluster', 'Namespaced']))
  }
  const strategy = recordOf(spec['conversion'])['strategy']
  if (strategy !== 'None') errors.push(fieldError.unsupported('spec.conversion.strategy', strategy, ['None']))
  const versions = listOf(spec['versions']).map(recordOf)
  if (versions.filter(version => version['storage'] === true).length !== 1) {
    const detail = 'must have exactly one version marked as storage version'
    errors.push(
      fieldError.invalid(
        'spec.versions',
        versions.map(version => version['name']),
        detail,
      ),
    )
  }
  versions.forEach((version, index) => {
    const at = `spec.versions[${index}].schema.openAPIV3Schema`
    const schema = recordOf(version['schema'])['openAPIV3Schema']
    if (isRecord(schema)) structuralErrors(schema, at, errors)
    else errors.push(fieldError.required(at, 'schemas are required'))
    listOf(version['additionalPrinterColumns']).forEach((column, number) => {
      const path = recordOf(column)['jsonPath']
      const where = `spec.versions[${index}].additionalPrinterColumns[${number}].jsonPath`
      checkParses(() => jsonPath(textOf(path)), where, path, errors)
    })
  })
  return errors
}

/** Structural schema rules: pruning, defaulting and field ownership need a type for every field. */
function structuralErrors(schema: Fields, at: string, errors: FieldError[]): void {
  const free = schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true
  if (!schema['type'] && !free) {
    errors.push(fieldError.required(`${at}.type`, 'must not be empty for specified object fields'))
  }
  if (schema['type'] === 'array' && !isRecord(schema['items'])) {
    errors.push(fieldError.required(`${at}.items`, 'must be specified'))
  }
  if (isRecord(schema['additionalProperties']) && isRecord(schema['properties'])) {
    errors.push(
      fieldError.forbidden(`${at}.additionalProperties`, 'additionalProperties and properties are mutual exclusive'),
    )
  }
  if (schema['x-kubernetes-list-type'] === 'map') listKeyErrors(schema, at, errors)
  for (const name of ['$ref', 'definitions', 'uniqueItems']) {
    if (schema[name]) errors.push(fieldError.forbidden(`${at}.${name}`, `${name} cannot be set`))
  }
  checkParses(() => regularExpression(textOf(schema['pattern'])), `${at}.pattern`, schema['pattern'], errors)
  checkParses(() => compile(schema as Schema), `${at}.x-kubernetes-validations`, undefined, errors)
  for (const [name, field] of Object.entries(recordOf(schema['properties']))) {
    if (isRecord(field)) structuralErrors(field, `${at}.properties[${name}]`, errors)
  }
  for (const name of ['items', 'additionalProperties']) {
    const inner = schema[name]
    if (isRecord(inner)) structuralErrors(inner, `${at}.${name}`, errors)
  }
}

function listKeyErrors(schema: Fields, at: string, errors: FieldError[]): void {
  const items = recordOf(schema['items'])
  for (const key of listOf(schema['x-kubernetes-list-map-keys']).map(textOf)) {
    const field = recordOf(items['properties'])[key]
    if (listOf(items['required']).includes(key) || recordOf(field)['default'] !== undefined) continue
    const detail = 'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property'
    errors.push(fieldError.required(`${at}.items.properties[${key}].default`, detail))
  }
}

function checkParses(attempt: () => void, at: string, value: unknown, errors: FieldError[]): void {
  try {
    attempt()
  } catch (error) {
    errors.push(fieldError.invalid(at, value ?? null, messageOf(error).split('\n')[0] ?? ''))
  }
}

export function kindFromDefinition(definition: ApiObject): Kind {
  const spec = recordOf(definition['spec'])
  const names = recordOf(spec['names'])
  const versions = listOf(spec['versions']).map(recordOf)
  const stored = versions.filter(version => version['storage'] === true)
  const others = versions.filter(version => version['storage'] !== true)
  return {
    group: textOf(spec['group']),
    kind: textOf(names['kind']),
    plural: textOf(names['plural']),
    singular: textOf(names['singular']),
    listKind: textOf(names['listKind']),
    shortNames: listOf(names['shortNames']).map(textOf),
    categories: listOf(names['categories']).map(textOf),
    namespaced: spec['scope'] === 'Namespaced',
    custom: true,
    ...(definition.metadata.deletionTimestamp && { terminating: true }),
    versions: [...stored, ...others].map(versionOf),
    behaviour: { generation: true },
    selectableFields: listOf(stored[0]?.['selectableFields']).map(one => textOf(recordOf(one)['jsonPath']).slice(1)),
  }
}

function versionOf(version: Fields): KindVersion {
  const declared = recordOf(recordOf(version['schema'])['openAPIV3Schema']) as Schema
  const further = declared.properties?.['metadata']?.properties
  const metadata = typeSchema('ObjectMeta')
  const schema: Schema = {
    ...declared,
    properties: {
      ...declared.properties,
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: further ? { ...metadata, properties: { ...metadata.properties, ...further } } : metadata,
    },
  }
  return {
    name: textOf(version['name']),
    served: version['served'] === true,
    schema,
    status: isRecord(recordOf(version['subresources'])['status']),
    columns: columnsOf(listOf(version['additionalPrinterColumns']).map(recordOf)),
  }
}

function columnsOf(printed: Fields[]): readonly Column[] {
  const [name, age] = columns.plain
  return [name, ...(printed.length > 0 ? printed.map(columnOf) : [age])]
}

function columnOf(printed: Fields): Column {
  const path = jsonPath(textOf(printed['jsonPath']))
  const type = textOf(printed['type'])
  const { format, description, priority } = printed
  return {
    name: textOf(printed['name']),
    type,
    ...(typeof format === 'string' && { format }),
    ...(typeof description === 'string' && { description }),
    priority: typeof priority === 'number' ? priority : 0,
    cell(object, now) {
      const value = path(object)
      if (value === undefined) return null
      if (type === 'date') return since(textOf(value), now)
      return type === 'string' && typeof value !== 'string' ? JSON.stringify(value) : value
    },
  }
}

/** A definition is served as soon as it is stored, so it is Established from the start. */
function establishedStatus(definition: ApiObject): Fields {
  const spec = recordOf(definition['spec'])
  const was = recordOf(definition['status'])
  const stored = listOf(spec['versions'])
    .map(recordOf)
    .find(version => version['storage'] === true)
  const conditions = listOf(was['conditions']).map(recordOf)
  const condition = (type: string, reason: string, message: string) => {
    const known = conditions.find(one => one['type'] === type)
    return known ?? { type, status: 'True', reason, message, lastTransitionTime: definition.metadata.creationTimestamp }
  }
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
    ],
    acceptedNames: spec['names'],
    storedVersions: [...new Set([...listOf(was['storedVersions']).map(textOf), textOf(stored?.['name'])])],
  }
}
