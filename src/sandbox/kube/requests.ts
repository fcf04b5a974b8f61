/**
 * What a request asks for: the path, the query, the accepted form and the body, read into plain values.
 */
import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { parse as parseYaml } from 'yaml'
import { messageOf } from '../../errors.ts'
import type { Target, WriteOptions } from './admission.ts'
import { ApiFailure, badRequest, noSuchPath, unsupportedMediaType } from './failures.ts'
import { isRecord, recordOf, textOf } from './json.ts'
import type { Kinds } from './kinds.ts'
import { decodeBody } from './protobuf.ts'
import { fieldSelector, labelSelector, type Matcher } from './selectors.ts'
import type { IncludeObject } from './table.ts'
import type { DeleteOptions, PatchType } from './verbs.ts'

/** The object or list that a path below /api/v1 or /apis/GROUP/VERSION names. */
export function targetOf(path: string, kinds: Kinds): Target {
  const steps = path
    .split('/')
    .filter(step => step !== '')
    .map(decodeURIComponent)
  const [root, ...rest] = steps
  const [group, version, ...inside] = root === 'api' ? ['', ...rest] : rest
  if (group === undefined || version === undefined) throw noSuchPath()
  const scoped = inside[0] === 'namespaces' && inside.length > 2 && !isNamespaceItself(inside)
  const [plural, name = '', subresource, ...more] = scoped ? inside.slice(2) : inside
  const found = plural === undefined ? undefined : kinds.find(group, version, plural)
  if (!found || more.length > 0) throw noSuchPath()
  if (found.kind.namespaced ? !scoped && name !== '' : scoped) throw noSuchPath()
  return { ...found, namespace: scoped ? inside[1] : undefined, name, subresource }
}

/** `namespaces/x/status` and `namespaces/x/finalize` are of the namespace, `namespaces/x/pods` is inside it. */
function isNamespaceItself(inside: readonly string[]): boolean {
  return inside.length === 3 && (inside[2] === 'status' || inside[2] === 'finalize')
}

export interface ListQuery {
  matches: Matcher
  watch: boolean
  resourceVersion: string
  resourceVersionMatch: string
  limit: number
  continue: string
  timeoutSeconds: number | undefined
  bookmarks: boolean
  sendInitialEvents: boolean
}

export function listQuery(query: URLSearchParams, target: Target): ListQuery {
  const labels = query.get('labelSelector')
  const fields = query.get('fieldSelector')
  const byLabels = labels ? labelSelector(labels) : undefined
  const byFields = fields ? fieldSelector(fields, target.kind, target.kind.selectableFields) : undefined
  const timeout = query.get('timeoutSeconds')
  return {
    matches: object => (byLabels?.(object) ?? true) && (byFields?.(object) ?? true),
    watch: isSet(query, 'watch'),
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    limit: Number(query.get('limit') ?? 0),
    continue: query.get('continue') ?? '',
    timeoutSeconds: timeout ? Number(timeout) : undefined,
    bookmarks: isSet(query, 'allowWatchBookmarks'),
    sendInitialEvents: isSet(query, 'sendInitialEvents'),
  }
}

export function isSet(query: URLSearchParams, name: string): boolean {
  const value = query.get(name)
  return value !== null && value !== 'false' && value !== '0'
}

export function versionNumber(text: string): number | undefined {
  if (text === '' || text === '0') return undefined
  if (!/^\d+$/.test(text))
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: no number`)
  return Number(text)
}

/** The manager is named, or is the program that asks; for apply it has to be named. */
export function writeOptions(query: URLSearchParams, userAgent: string, warn: (text: string) => void): WriteOptions {
  const validation = query.get('fieldValidation')
  return {
    manager: query.get('fieldManager') || userAgent.split('/')[0]?.slice(0, 128) || 'unknown',
    dryRun: isDryRun(query.getAll('dryRun')),
    fieldValidation: validation === 'Strict' || validation === 'Ignore' ? validation : 'Warn',
    warn,
  }
}

function isDryRun(values: readonly string[]): boolean {
  const wrong = values.find(value => value !== 'All')
  if (wrong !== undefined) throw badRequest(`Unsupported value: ${JSON.stringify(wrong)}: supported values: "All"`)
  return values.length > 0
}

/** Options of a deletion come in the query or in the body. */
export function deleteOptions(query: URLSearchParams, body: unknown): DeleteOptions {
  const given = recordOf(body)
  const preconditions = recordOf(given['preconditions'])
  const grace = query.get('gracePeriodSeconds') ?? given['gracePeriodSeconds']
  const policy = query.get('propagationPolicy') ?? given['propagationPolicy'] ?? orphanPolicy(query, given)
  const dryRun = [...query.getAll('dryRun'), ...(Array.isArray(given['dryRun']) ? given['dryRun'].map(textOf) : [])]
  const uid = textOf(preconditions['uid'])
  const resourceVersion = textOf(preconditions['resourceVersion'])
  return {
    dryRun: isDryRun(dryRun),
    ...(grace !== undefined && grace !== null && { gracePeriodSeconds: Number(grace) }),
    ...(isPolicy(policy) && { propagationPolicy: policy }),
    ...(uid && { uid }),
    ...(resourceVersion && { resourceVersion }),
  }
}

function isPolicy(value: unknown): value is 'Background' | 'Foreground' | 'Orphan' {
  return value === 'Background' || value === 'Foreground' || value === 'Orphan'
}

function orphanPolicy(query: URLSearchParams, given: Record<string, unknown>): string | undefined {
  const orphan = query.get('orphanDependents') ?? given['orphanDependents']
  return orphan === undefined || orphan === null ? undefined : String(orphan) === 'true' ? 'Orphan' : 'Background'
}

const patchTypes: Record<string, PatchType> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

/** Custom kinds have no strategic merge patch. */
export function patchType(contentType: string, custom: boolean): PatchType {
  const known = Object.entries(patchTypes).filter(([, type]) => !custom || type !== 'strategic')
  const [, type] = known.find(([name]) => name === mediaType(contentType)) ?? []
  if (!type) throw unsupportedMediaType(known.map(([name]) => name))
  return type
}

function mediaType(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? ''
}

const largest = 3 * 1024 * 1024

export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > largest) throw new ApiFailure(413, 'RequestEntityTooLarge', `limit is ${largest}`)
    chunks.push(chunk)
  }
  if (size === 0) return undefined
  const type = mediaType(request.headers['content-type'] ?? '')
  if (type.includes('cbor')) throw unsupportedMediaType(['application/json', 'application/yaml'])
  const bytes = Buffer.concat(chunks)
  if (type === 'application/vnd.kubernetes.protobuf') return decodeBody(bytes)
  const text = bytes.toString('utf8')
  try {
    return type.includes('yaml') ? yamlOrJson(text) : JSON.parse(text)
  } catch (error) {
    throw badRequest(`error decoding the body: ${messageOf(error)}`)
  }
}

function yamlOrJson(text: string): unknown {
  return text.trimStart().startsWith('{') ? JSON.parse(text) : parseYaml(text)
}

export interface Form {
  as: 'plain' | 'table' | 'partial' | 'aggregated'
  version: string
  include: IncludeObject
}

/** The first form that is asked for and that we know. */
export function formOf(accept: string, query: URLSearchParams): Form {
  const asked = query.get('includeObject')
  const include = asked === 'None' || asked === 'Object' ? asked : 'Metadata'
  for (const option of accept.split(',')) {
    const [type = '', ...parameters] = option.split(';').map(part => part.trim())
    if (type !== 'application/json' && type !== '*/*' && type !== 'application/*') continue
    const named = Object.fromEntries(parameters.map(parameter => parameter.split('=')))
    const { as, v: version = 'v1' } = isRecord(named) ? (named as Record<string, string>) : {}
    if (as === 'Table' && (version === 'v1' || version === 'v1beta1')) return { as: 'table', version, include }
    if (as?.startsWith('PartialObjectMetadata')) return { as: 'partial', version, include }
    if (as === 'APIGroupDiscoveryList' && (version === 'v2' || version === 'v2beta1')) {
      return { as: 'aggregated', version, include }
    }
    if (as === undefined) break
  }
  return { as: 'plain', version: 'v1', include }
}
