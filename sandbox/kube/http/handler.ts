/**
 * Request handler of the API server: routes requests to the cluster. Independent of sockets and TLS.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { stringify as toYaml } from 'yaml'
import { messageOf } from '../../../src/runtime/errors.ts'
import { apiAudience } from '../access/account-tokens.ts'
import { attributesOf, authorize, userOf } from '../access/rbac.ts'
import { createReview, reviewAt } from '../access/reviews.ts'
import {
  ApiError,
  isHinted,
  methodNotAllowed,
  noSuchPath,
  noSuchResource,
  notAcceptable,
  notFound,
  notInSandbox,
  pathNotServed,
  type Status,
  unauthorized,
} from '../api-errors.ts'
import { documentAt, serverVersion } from '../discovery/documents.ts'
import { type ApiObject, recordOf, textOf } from '../json.ts'
import { kindId } from '../kinds/kinds.ts'
import type { WriteOptions } from '../objects/admission.ts'
import type { Target } from '../objects/target.ts'
import { selectObjects } from '../objects/watch.ts'
import type { HandlerOptions, RequestContext } from './context.ts'
import { servePodLog } from './logs.ts'
import { deleteOptions, isSet, listQuery, writeOptions } from './options.ts'
import { patchType, readBody, responseFormat, responseTypes, targetOf } from './requests.ts'
import { checkReached, listText, objectText, type ResponseOptions } from './responses.ts'
import { serveWatch } from './watch-stream.ts'

export function createHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    handle(options, request, response).catch(error => {
      if (!(error instanceof ApiError)) {
        options.log.error('request failed', { method: request.method, url: request.url, error: messageOf(error) })
      }
      fail(response, error)
    })
  }
}

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE']

async function handle(options: HandlerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '/', search = ''] = (request.url ?? '/').split('?')
  const query = new URLSearchParams(search)
  const context: RequestContext = {
    request,
    response,
    path,
    query,
    format: responseFormat(request.headers.accept ?? '', query),
  }
  if (!methods.includes(request.method ?? '')) throw methodNotAllowed()
  if (servePublicPath(context)) return
  const { tokens } = options
  const holder = tokens.holderOf(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '')
  if (!holder?.audiences.includes(apiAudience)) throw unauthorized()
  const { kinds, store } = options.cluster
  const user = userOf(request.headers, holder.user)
  const steps = path.split('/').filter(step => step !== '')
  const document = documentAt(steps, options.cluster)
  if (document) return sendJson(response, 200, document)
  const review = reviewAt(steps)
  if (review) {
    if (request.method !== 'POST') throw methodNotAllowed()
    return sendJson(response, 201, createReview(review, recordOf(await readBody(request)), { store, user, tokens }))
  }
  if (steps[0] !== 'api' && steps[0] !== 'apis') throw noSuchPath()
  const target = targetOf(path, kinds)
  authorize(store, user, attributesOf(request.method ?? '', isSet(query, 'watch'), target), target)
  return serve(context, options, target)
}

/** Paths that need no token. */
function servePublicPath({ path, query, request, response }: RequestContext): boolean {
  if (path === '/version') sendJson(response, 200, serverVersion)
  else if (/^\/(healthz|readyz|livez)(\/|$)/.test(path)) {
    const text = isSet(query, 'verbose') ? `[+]ping ok\n${path.split('/')[1]} check passed\n` : 'ok'
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
  } else return false
  request.resume()
  return true
}

async function serve(context: RequestContext, options: HandlerOptions, target: Target): Promise<void> {
  const { request, query } = context
  const { subresource } = target
  if (subresource !== undefined && isHinted(subresource) && kindId(target.kind) === '/pods') {
    const { spec } = options.cluster.verbs.get({ ...target, subresource: undefined })
    throw notInSandbox(subresource, textOf(recordOf(spec)['nodeName']))
  }
  if (subresource !== undefined) checkSubresource(target, request.method ?? '')
  if (subresource === 'log') return servePodLog(context, options, target)
  if (subresource === 'token')
    return sendJson(context.response, 201, options.tokens.issue(target, recordOf(await readBody(request))))
  if (!context.format.type) throw notAcceptable(responseTypes)
  if (target.name === '') return serveCollection(context, options, target)
  const { verbs, store } = options.cluster
  const responseOptions = responseOptionsFor(context, options, target)
  switch (request.method) {
    case 'GET':
      checkReached(query.get('resourceVersion') ?? '', store)
      return sendObject(context, 200, verbs.get(target), responseOptions)
    case 'PUT': {
      const { object, created } = verbs.update(target, await readBody(request), writeOptionsOf(context))
      return sendObject(context, created ? 201 : 200, object, responseOptions)
    }
    case 'PATCH': {
      const type = patchType(request.headers['content-type'] ?? '', target.kind.custom)
      const options = { ...writeOptionsOf(context), force: query.get('force') === 'true' }
      if (type === 'apply' && !query.get('fieldManager')) options.manager = ''
      const { object, created } = verbs.patch(target, type, await readBody(request), options)
      return sendObject(context, created ? 201 : 200, object, responseOptions)
    }
    case 'DELETE': {
      const result = verbs.remove(target, deleteOptions(query, await readBody(request)))
      if (isStatus(result)) return sendJson(context.response, 200, result)
      return sendObject(context, 200, result, {
        ...responseOptions,
        format: { ...responseOptions.format, as: 'plain' },
      })
    }
    default:
      throw methodNotAllowed()
  }
}

async function serveCollection(context: RequestContext, options: HandlerOptions, target: Target): Promise<void> {
  const { request, query } = context
  const { verbs, store } = options.cluster
  const responseOptions = responseOptionsFor(context, options, target)
  switch (request.method) {
    case 'GET': {
      const list = listQuery(query, target)
      if (list.watch) return serveWatch(context, options, target, list, responseOptions)
      return sendText(context, 200, listText(store, target.namespace, list, responseOptions))
    }
    case 'POST': {
      if (target.kind.namespaced && target.namespace === undefined) {
        throw target.kind.custom ? noSuchPath() : methodNotAllowed()
      }
      const object = verbs.create(target, await readBody(request), writeOptionsOf(context))
      return sendObject(context, 201, object, responseOptions)
    }
    case 'DELETE': {
      const remove = deleteOptions(query, await readBody(request))
      const list = listQuery(query, target)
      const text = listText(store, target.namespace, list, {
        ...responseOptions,
        format: { ...context.format, as: 'plain' },
      })
      const found = selectObjects(store, {
        kind: kindId(target.kind),
        namespace: target.namespace,
        matches: list.matches,
      })
      for (const { metadata } of found) {
        verbs.remove({ ...target, namespace: metadata.namespace, name: metadata.name }, remove)
      }
      return sendText(context, 200, text)
    }
    default:
      throw methodNotAllowed()
  }
}

function writeOptionsOf({ request, response, query }: RequestContext): WriteOptions {
  const { method = '', headers } = request
  return writeOptions(method, query, headers['user-agent'] ?? '', text => warn(response, text))
}

function checkSubresource({ kind, version, name, subresource }: Target, method: string): void {
  const isCore = kind.group === ''
  if (subresource === 'status' && version.status) {
    if (['GET', 'PUT', 'PATCH'].includes(method)) return
    throw methodNotAllowed()
  }
  if (subresource === 'log' && isCore && kind.kind === 'Pod') return
  if (subresource === 'token' && isCore && kind.kind === 'ServiceAccount') {
    if (method === 'POST') return
    throw methodNotAllowed()
  }
  if (subresource === 'finalize' && isCore && kind.kind === 'Namespace' && method === 'PUT') return
  throw kind.custom ? notFound(kind, name) : noSuchResource()
}

function responseOptionsFor(
  { format: form }: RequestContext,
  { cluster }: HandlerOptions,
  { kind, version }: Target,
): ResponseOptions {
  return { kind, version, format: form, now: cluster.now() }
}

function isStatus(result: ApiObject | Status): result is Status {
  return result.kind === 'Status'
}

function sendObject(context: RequestContext, code: number, object: ApiObject, responseOptions: ResponseOptions): void {
  sendText(context, code, objectText(object, responseOptions))
}

/** Converts JSON text to the requested media type. */
function sendText({ response, format: form }: RequestContext, code: number, text: string): void {
  if (form.type === 'yaml') send(response, code, toYaml(JSON.parse(text)), 'application/yaml')
  else send(response, code, `${text}\n`)
}

function warn(response: ServerResponse, text: string): void {
  const quoted = text.replaceAll(/[^\x20-\x7e]/g, '?').replaceAll(/[\\"]/g, '\\$&')
  response.appendHeader('warning', `299 - "${quoted}"`)
}

function fail(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.destroy()
    return
  }
  if (error instanceof ApiError && error.status.reason === pathNotServed) {
    send(response, 404, '404 page not found\n', 'text/plain; charset=utf-8')
    return
  }
  const failure = error instanceof ApiError ? error : new ApiError(500, 'InternalError', messageOf(error))
  const { retryAfterSeconds } = failure.status.details ?? {}
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds)
  sendJson(response, failure.status.code ?? 500, failure.status)
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  send(response, code, `${JSON.stringify(body)}\n`)
}

function send(response: ServerResponse, code: number, text: string, type = 'application/json'): void {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  })
  response.end(text)
}
