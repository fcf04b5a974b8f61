/**
 * OpenAPI v3 documents: schemas of custom resources from their CRDs, and the options of a PATCH.
 *
 * kubectl reads from them whether the server validates fields and supports dry runs; `kubectl explain` shows the schemas.
 * Fields of built-in types have no descriptions. Documents are generated per request.
 */

import type { Fields } from '../json.ts'
import { apiVersion, type Kind, type KindVersion } from '../kinds/kinds.ts'
import type { Schema } from '../kinds/schema.ts'
import { typeName } from '../kinds/types.ts'
import { servedGroups } from './discovery.ts'

export function openApiIndex(kinds: readonly Kind[], revision: number): Fields {
  const paths: Fields = {}
  for (const { group, versions } of servedGroups(kinds)) {
    for (const version of versions) {
      const path = group ? `apis/${group}/${version}` : `api/${version}`
      paths[path] = { serverRelativeURL: `/openapi/v3/${path}?hash=${revision}` }
    }
  }
  return { paths }
}

export function openApiDocument(kinds: readonly Kind[], group: string, version: string): Fields | undefined {
  const served = kinds.flatMap(kind => {
    const found = kind.versions.find(one => one.name === version && one.served)
    return kind.group === group && found ? [{ kind, version: found }] : []
  })
  if (served.length === 0) return undefined
  const schemas: Fields = {}
  for (const { kind, version } of served) {
    schemas[schemaName(kind, version)] = {
      ...withReferences(describedSchema(version), schemas),
      'x-kubernetes-group-version-kind': [gvk(kind, version)],
    }
  }
  return {
    openapi: '3.0.0',
    info: { title: 'MultiNIC sandbox', version: 'v1' },
    paths: Object.assign({}, ...served.map(({ kind, version }) => pathsOf(kind, version))),
    components: { schemas },
  }
}

/** Replaces built-in types by references; adds their definitions to `schemas`. */
function withReferences(schema: Schema, schemas: Fields): Fields {
  const name = typeName(schema)
  if (name === undefined) return { ...schema, ...innerOf(schema, schemas) }
  if (!schemas[name]) {
    schemas[name] = {}
    schemas[name] = { ...schema, ...innerOf(schema, schemas) }
  }
  return { allOf: [{ $ref: `#/components/schemas/${name}` }] }
}

function innerOf({ properties, items, additionalProperties: further }: Schema, schemas: Fields): Fields {
  const fields = Object.entries(properties ?? {}).map(([name, field]) => [name, withReferences(field, schemas)])
  return {
    ...(properties && { properties: Object.fromEntries(fields) }),
    ...(items && { items: withReferences(items, schemas) }),
    ...(typeof further === 'object' && { additionalProperties: withReferences(further, schemas) }),
  }
}

/** Adds descriptions of apiVersion and kind. */
function describedSchema({ schema = {} }: KindVersion): Schema {
  return {
    ...schema,
    properties: {
      ...schema.properties,
      apiVersion: { type: 'string', description: 'API version of this object.' },
      kind: { type: 'string', description: 'Kind of this object.' },
    },
  }
}

function schemaName(kind: Kind, version: KindVersion): string {
  const [first = ''] = kind.group.split('.')
  const place = kind.custom
    ? kind.group.split('.').reverse().join('.')
    : first === 'apiextensions'
      ? 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions'
      : `io.k8s.api.${first || 'core'}`
  return `${place}.${version.name}.${kind.kind}`
}

function gvk(kind: Kind, version: KindVersion): Fields {
  return { group: kind.group, kind: kind.kind, version: version.name }
}

const query = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } })
const inPath = (name: string) => ({ name, in: 'path', required: true, schema: { type: 'string', uniqueItems: true } })

function pathsOf(kind: Kind, version: KindVersion): Fields {
  const root = kind.group ? `/apis/${apiVersion(kind.group, version.name)}` : `/api/${version.name}`
  const all = kind.namespaced ? `${root}/namespaces/{namespace}/${kind.plural}` : `${root}/${kind.plural}`
  const ref = { $ref: `#/components/schemas/${schemaName(kind, version)}` }
  const answer = { 200: { description: 'OK', content: { 'application/json': { schema: ref } } } }
  const body = { content: { '*/*': { schema: ref } }, required: true }
  const operation = (action: string, parameters: string[], more: Fields = {}) => ({
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': gvk(kind, version),
    parameters: parameters.map(query),
    responses: answer,
    ...more,
  })
  const writing = ['dryRun', 'fieldManager', 'fieldValidation']
  const patchTypes = ['application/json-patch+json', 'application/merge-patch+json', 'application/apply-patch+yaml']
  if (!kind.custom) patchTypes.push('application/strategic-merge-patch+json')
  const patchBody = { content: Object.fromEntries(patchTypes.map(type => [type, { schema: { type: 'object' } }])) }
  const where = kind.namespaced ? [inPath('namespace')] : []
  return {
    [all]: {
      parameters: where,
      get: operation('list', ['labelSelector', 'fieldSelector', 'limit', 'continue', 'watch']),
      post: operation('post', writing, { requestBody: body }),
    },
    [`${all}/{name}`]: {
      parameters: [inPath('name'), ...where],
      get: operation('get', []),
      put: operation('put', writing, { requestBody: body }),
      patch: operation('patch', [...writing, 'force'], { requestBody: patchBody }),
      delete: operation('delete', ['dryRun', 'gracePeriodSeconds', 'propagationPolicy']),
    },
  }
}
