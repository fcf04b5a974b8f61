/**
 * One request in, one answer out: the routes of the API over a cluster, without sockets or certificates.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { stringify as toYaml } from 'yaml'
import { messageOf } from '../../../src/runtime/errors.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { checkRight, userOf, wishOf } from '../access/rbac.ts'
import { reviewAt, reviewed } from '../access/reviews.ts'
import type { Cluster } from '../cluster.ts'
import { documentAt, serverVersion } from '../discovery/documents.ts'
import {
  ApiFailure,
  methodNotAllowed,
  noSuchPath,
  noSuchResource,
  notAcceptable,
  notFound,
  nowhere,
  type Status,
  unauthorized,
} from '../failures.ts'
import { type ApiObject, recordOf } from '../json.ts'
import { kindId } from '../kinds/kinds.ts'
import type { Target, WriteOptions } from '../objects/admission.ts'
import { selected } from '../objects/watch.ts'
import { servePodLog } from './logs.ts'
import { deleteOptions, isSet, listQuery, writeOptions } from './options.ts'
import { type Form, formOf, offered, patchType, readBody, targetOf } from './requests.ts'
import { type Answering, listText, oneText, reached } from './responses.ts'
import { serveWatch } from './watch-stream.ts'

export type PodLogs = (namespace: string, name: string) => string | undefined

export interface HandlerOptions {
  cluster: Cluster
  token: string
  log: Log
  podLogs: PodLogs
}

/** What is known of a request once its head is read. */
export interface Asked {
  request: IncomingMessage
  response: ServerResponse
  path: string
  query: URLSearchParams
  form: Form
}

export function createHandler(options: HandlerOptions): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    handle(options, request, response).catch(error => {
      if (!(error instanceof ApiFailure)) {
        options.log.error('request failed', { method: request.method, url: request.url, error: messageOf(error) })
      }
      fail(response, error)
    })
  }
}

async function handle(options: HandlerOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '/', search = ''] = (request.url ?? '/').split('?')
  const query = new URLSearchParams(search)
  const asked: Asked = { request, response, path, query, form: formOf(request.headers.accept ?? '', query) }
  if (open(asked)) return
  const { token } = options
  if (request.headers.authorization !== `Bearer ${token}`) throw unauthorized()
  const { kinds, store } = options.cluster
  const user = userOf(request.headers)
  const steps = path.split('/').filter(step => step !== '')
  const { text, type } = documentAt(steps, asked.form, options.cluster) ?? {}
  if (text !== undefined) return send(response, 200, type ? text : `${text}\n`, type)
  const review = reviewAt(steps)
  if (review) {
    if (request.method !== 'POST') throw methodNotAllowed()
    return sendJson(response, 201, reviewed(review, recordOf(await readBody(request)), { store, user, token }))
  }
  if (steps[0] !== 'api' && steps[0] !== 'apis') throw noSuchPath()
  const target = targetOf(path, kinds)
  checkRight(store, user, wishOf(request.method ?? '', isSet(query, 'watch'), target), target)
  return serve(asked, options, target)
}

/** What anybody may ask. */
function open({ path, query, request, response }: Asked): boolean {
  if (path === '/version') sendJson(response, 200, serverVersion)
  else if (/^\/(healthz|readyz|livez)(\/|$)/.test(path)) {
    const text = isSet(query, 'verbose') ? `[+]ping ok\n${path.split('/')[1]} check passed\n` : 'ok'
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(text)
  } else return false
  request.resume()
  return true
}

async function serve(asked: Asked, options: HandlerOptions, target: Target): Promise<void> {
  const { request, query } = asked
  if (target.subresource !== undefined) checkSubresource(target, request.method ?? '')
  if (target.subresource === 'log') return servePodLog(asked, options, target)
  if (!asked.form.type) throw notAcceptable(offered)
  if (target.name === '') return serveCollection(asked, options, target)
  const { verbs, store } = options.cluster
  const answering = answeringOf(asked, options, target)
  switch (request.method) {
    case 'GET':
      reached(query.get('resourceVersion') ?? '', store)
      return sendObject(asked, 200, verbs.get(target), answering)
    case 'PUT': {
      const { object, created } = verbs.update(target, await readBody(request), writing(asked))
      return sendObject(asked, created ? 201 : 200, object, answering)
    }
    case 'PATCH': {
      const type = patchType(request.headers['content-type'] ?? '', target.kind.custom)
      const named = { ...writing(asked), force: query.get('force') === 'true' }
      if (type === 'apply' && !query.get('fieldManager')) named.manager = ''
      const { object, created } = verbs.patch(target, type, await readBody(request), named)
      return sendObject(asked, created ? 201 : 200, object, answering)
    }
    case 'DELETE': {
      const result = verbs.remove(target, deleteOptions(query, await readBody(request)))
      if (isStatus(result)) return sendJson(asked.response, 200, result)
      return sendObject(asked, 200, result, { ...answering, form: { ...answering.form, as: 'plain' } })
    }
    default:
      throw methodNotAllowed()
  }
}

async function serveCollection(asked: Asked, options: HandlerOptions, target: Target): Promise<void> {
  const { request, query } = asked
  const { verbs, store } = options.cluster
  const answering = answeringOf(asked, options, target)
  switch (request.method) {
    case 'GET': {
      const list = listQuery(query, target)
      if (list.watch) return serveWatch(asked, options, target, list, answering)
      return sendText(asked, 200, listText(store, target.namespace, list, answering))
    }
    case 'POST': {
      if (target.kind.namespaced && target.namespace === undefined) {
        throw target.kind.custom ? noSuchPath() : methodNotAllowed()
      }
      const object = verbs.create(target, await readBody(request), writing(asked))
      return sendObject(asked, 201, object, answering)
    }
    case 'DELETE': {
      const remove = deleteOptions(query, await readBody(request))
      const list = listQuery(query, target)
      const text = listText(store, target.namespace, list, { ...answering, form: { ...asked.form, as: 'plain' } })
      const found = selected(store, { kind: kindId(target.kind), namespace: target.namespace, matches: list.matches })
      for (const { metadata } of found) {
        verbs.remove({ ...target, namespace: metadata.namespace, name: metadata.name }, remove)
      }
      return sendText(asked, 200, text)
    }
    default:
      throw methodNotAllowed()
  }
}

function writing({ request, response, query }: Asked): WriteOptions {
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
  if (subresource === 'finalize' && isCore && kind.kind === 'Namespace' && method === 'PUT') return
  throw kind.custom ? notFound(kind, name) : noSuchResource()
}

function answeringOf({ form }: Asked, { cluster }: HandlerOptions, { kind, version }: Target): Answering {
  return { kind, version, form, now: cluster.now() }
}

function isStatus(result: ApiObject | Status): result is Status {
  return result.kind === 'Status'
}

function sendObject(asked: Asked, code: number, object: ApiObject, answering: Answering): void {
  sendText(asked, code, oneText(object, answering))
}

/** What was written as JSON, in the language that was asked for. */
function sendText({ response, form }: Asked, code: number, text: string): void {
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
  if (error instanceof ApiFailure && error.status.reason === nowhere) {
    send(response, 404, '404 page not found\n', 'text/plain; charset=utf-8')
    return
  }
  const failure = error instanceof ApiFailure ? error : new ApiFailure(500, 'InternalError', messageOf(error))
  const { retryAfterSeconds } = failure.status.details ?? {}
  if (retryAfterSeconds !== undefined) response.setHeader('retry-after', retryAfterSeconds)
  sendJson(response, failure.status.code ?? 500, failure.status)
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  send(response, code, `${JSON.stringify(body)}\n`)
}

export function send(response: ServerResponse, code: number, text: string | Buffer, type = 'application/json'): void {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  })
  response.end(text)
}
