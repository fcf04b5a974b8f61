/**
 * OpenAPI v3 of what is served: the schemas of custom kinds as their CRDs say them, and which options a PATCH takes.
 *
 * kubectl reads from it whether the server checks fields and dry runs by itself, and `kubectl explain` reads the schemas.
 * Built-in kinds show only the fields that this server looks at.
 */
import { servedGroups } from './discovery.ts'
import type { Fields } from './json.ts'
import { apiVersion, type Kind, type KindVersion } from './kinds.ts'

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
  return {
    openapi: '3.0.0',
    info: { title: 'MultiNIC sandbox', version: 'v1' },
    paths: Object.assign({}, ...served.map(({ kind, version }) => pathsOf(kind, version))),
    components: {
      schemas: Object.fromEntries(
        served.map(({ kind, version }) => [schemaName(kind, version), schemaOf(kind, version)]),
      ),
    },
  }
}

export function schemaName(kind: Kind, version: KindVersion): string {
  const group = kind.group ? kind.group.split('.').reverse().join('.') : 'io.k8s.api.core'
  return `${group}.${version.name}.${kind.kind}`
}

export function gvk(kind: Kind, version: KindVersion): Fields {
  return { group: kind.group, kind: kind.kind, version: version.name }
}

function schemaOf(kind: Kind, version: KindVersion): Fields {
  const metadata = {
    type: 'object',
    description: "Standard object's metadata.",
    ...(version.schema?.properties?.['metadata'] ?? {}),
  }
  return {
    ...version.schema,
    properties: {
      ...version.schema?.properties,
      apiVersion: { type: 'string', description: 'The version of the schema that this object is written in.' },
      kind: { type: 'string', description: 'The kind of this object.' },
      metadata,
    },
    'x-kubernetes-group-version-kind': [gvk(kind, version)],
  }
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
