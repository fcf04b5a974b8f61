/**
 * Parses a request: the target in the path, the requested response format, and the body.
 */

import { Buffer } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { parse as parseYaml } from 'yaml'
import { messageOf } from '../../../src/runtime/errors.ts'
import { ApiError, badRequest, noSuchPath, noSuchResource, unsupportedMediaType } from '../api-errors.ts'
import { isRecord } from '../json.ts'
import type { Kinds } from '../kinds/kinds.ts'
import type { Target } from '../objects/target.ts'
import type { PatchType } from '../objects/verbs.ts'
import { decodeBody } from './protobuf.ts'

/** The object or collection at a path below /api/v1 or /apis/GROUP/VERSION. */
export function targetOf(path: string, kinds: Kinds): Target {
  const steps = path
    .split('/')
    .filter(step => step !== '')
    .map(decoded)
  const [root, ...rest] = steps
  const [group, version, ...inside] = root === 'api' ? ['', ...rest] : rest
  if (group === undefined || version === undefined) throw noSuchPath()
  const scoped = inside[0] === 'namespaces' && inside.length > 2 && !isNamespaceSubresource(inside)
  const [plural, name = '', subresource, ...more] = scoped ? inside.slice(2) : inside
  const found = plural === undefined ? undefined : kinds.find(group, version, plural)
  if (!found || more.length > 0) throw isBuiltin(kinds, group) ? noSuchResource() : noSuchPath()
  if (found.kind.namespaced ? !scoped && name !== '' : scoped) throw noSuchPath()
  return { ...found, namespace: scoped ? inside[1] : undefined, name, subresource }
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    throw badRequest(`invalid URL escape in ${JSON.stringify(step)}`)
  }
}

function isBuiltin(kinds: Kinds, group: string): boolean {
  return kinds.all().some(kind => kind.group === group && !kind.custom)
}

/** `namespaces/x/status` and `namespaces/x/finalize` are subresources of the namespace; `namespaces/x/pods` is inside it. */
function isNamespaceSubresource(inside: readonly string[]): boolean {
  return inside.length === 3 && (inside[2] === 'status' || inside[2] === 'finalize')
}

const patchTypes: Record<string, PatchType> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

/** Custom resources do not support strategic merge patches. */
export function patchType(contentType: string, custom: boolean): PatchType {
  const known = Object.entries(patchTypes).filter(([, type]) => !custom || type !== 'strategic')
  const [, type] = known.find(([name]) => name === mediaType(contentType)) ?? []
  if (!type) throw unsupportedMediaType(known.map(([name]) => name))
  return type
}

function mediaType(contentType: string): string {
  return contentType.split(';')[0]?.trim().toLowerCase() ?? ''
}

const maxBodyBytes = 3 * 1024 * 1024

export async function readBody(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request) {
    size += chunk.length
    if (size > maxBodyBytes) throw new ApiError(413, 'RequestEntityTooLarge', `limit is ${maxBodyBytes}`)
    chunks.push(chunk)
  }
  if (size === 0) return undefined
  const type = mediaType(request.headers['content-type'] ?? '')
  if (type && !/^application\/((.+\+)?(json|yaml)|vnd\.kubernetes\.protobuf)$/.test(type)) {
    throw unsupportedMediaType([...responseTypes, 'application/vnd.kubernetes.protobuf'])
  }
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

/** Media types of responses with objects. */
export const responseTypes = ['application/json', 'application/yaml']

export interface ResponseFormat {
  as: 'plain' | 'table'
  /** Rows of a table contain the whole object. */
  wholeObjects: boolean
  /** Undefined if the client accepts none of the supported types. */
  type: 'json' | 'yaml' | undefined
}

/** The first supported format in the Accept header. */
export function responseFormat(accept: string, query: URLSearchParams): ResponseFormat {
  const plain: ResponseFormat = { as: 'plain', wholeObjects: query.get('includeObject') === 'Object', type: 'json' }
  for (const option of accept.split(',')) {
    const [type = '', ...parameters] = option.split(';').map(part => part.trim())
    if (type === 'application/yaml') return { ...plain, type: 'yaml' }
    if (!['', 'application/json', '*/*', 'application/*'].includes(type)) continue
    const named = Object.fromEntries(parameters.map(parameter => parameter.split('=')))
    const { as, v: version = 'v1' } = isRecord(named) ? (named as Record<string, string>) : {}
    if (as === 'Table' && version === 'v1') return { ...plain, as: 'table' }
    if (as === undefined) return plain
  }
  return { ...plain, type: undefined }
}
