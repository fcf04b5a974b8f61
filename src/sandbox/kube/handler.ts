/**
 * One request in, one answer out: the routes of the API over a cluster, without sockets or certificates.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { messageOf } from '../../errors.ts'
import type { Log } from '../../log.ts'
import type { Target } from './admission.ts'
import { type Answering, listText, oneText } from './answers.ts'
import type { Cluster } from './cluster.ts'
import { documentAt, reviewAt, reviewed, serverVersion } from './documents.ts'
import { ApiFailure, methodNotAllowed, noSuchPath, notFound, nowhere, type Status, unauthorized } from './failures.ts'
import { type ApiObject, recordOf } from './json.ts'
import { kindId } from './kinds.ts'
import { servePodLog } from './logs.ts'
import {
  deleteOptions,
  type Form,
  formOf,
  type ListQuery,
  listQuery,
  patchType,
  readBody,
  targetOf,
  writeOptions,
} from './requests.ts'
import { serveWatch } from './streams.ts'
import { selected } from './watch.ts'

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
  if (request.headers.authorization !== `Bearer ${options.token}`) throw unauthorized()
  const { kinds } = options.cluster
  const steps = path.split('/').filter(step => step !== '')
  const { text, type } = documentAt(steps, asked.form, options.cluster) ?? {}
  if (text !== undefined) return send(response, 200, text, type)
  const review = reviewAt(path)
  if (review) {
    if (request.method !== 'POST') throw methodNotAllowed()
    return sendJson(response, 201, reviewed(review, recordOf(await readBody(request))))
  }
  if (steps[0] !== 'api' && steps[0] !== 'apis') throw noSuchPath()
  return serve(asked, options, targetOf(path, kinds))
}

/** What anybody may ask. */
function open({ path, request, response }: Asked): boolean {
  if (path === '/version') sendJson(response, 200, serverVersion)
  else if (/^\/(healthz|readyz|livez)(\/|$)/.test(path)) {
    response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('ok')
  } else return false
  request.resume()
  return true
}

async function serve(asked: Asked, options: HandlerOptions, target: Target): Promise<void> {
  const { request, query } = asked
  if (target.subresource !== undefined) checkSubresource(target, request.method ?? '')
  if (target.subresource === 'log') return servePodLog(asked, options, target)
  if (target.name === '') return serveCollection(asked, options, target)
  const { verbs } = options.cluster
  const answering = answeringOf(asked, options, target)
  const write = () => writeOptions(query, request.headers['user-agent'] ?? '', text => warn(asked.response, text))
  switch (request.method) {
    case 'GET':
      if (query.get('watch')) return watchCollection(asked, options, target)
      return sendObject(asked, 200, verbs.get(target), answering)
    case 'PUT': {
      const { object, created } = verbs.update(target, await readBody(request), write())
      return sendObject(asked, created ? 201 : 200, object, answering)
    }
    case 'PATCH': {
      const type = patchType(request.headers['content-type'] ?? '', target.kind.custom)
      const named = { ...write(), force: query.get('force') === 'true' }
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
  const { request, query, response } = asked
  const { verbs, store } = options.cluster
  const answering = answeringOf(asked, options, target)
  switch (request.method) {
    case 'GET': {
      const list = listQuery(query, target)
      if (list.watch) return serveWatch(asked, options, target, list, answering)
      return send(response, 200, listText(store, target.namespace, list, answering))
    }
    case 'POST': {
      if (target.kind.namespaced && target.namespace === undefined) {
        throw target.kind.custom ? noSuchPath() : methodNotAllowed()
      }
      const write = writeOptions(query, request.headers['user-agent'] ?? '', text => warn(response, text))
      const object = verbs.create(target, await readBody(request), write)
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
      return send(response, 200, text)
    }
    default:
      throw methodNotAllowed()
  }
}

/** The older way to watch one object. */
function watchCollection(asked: Asked, options: HandlerOptions, target: Target): void {
  const list = listQuery(asked.query, target)
  const matches: ListQuery['matches'] = object => object.metadata.name === target.name && list.matches(object)
  serveWatch(asked, options, target, { ...list, matches }, answeringOf(asked, options, target))
}

function checkSubresource({ kind, version, name, subresource }: Target, method: string): void {
  const isCore = kind.group === ''
  if (subresource === 'status' && version.status) {
    if (['GET', 'PUT', 'PATCH'].includes(method)) return
    throw methodNotAllowed()
  }
  if (subresource === 'log' && isCore && kind.kind === 'Pod') return
  if (subresource === 'finalize' && isCore && kind.kind === 'Namespace' && method === 'PUT') return
  throw notFound(kind, name)
}

function answeringOf({ form }: Asked, { cluster }: HandlerOptions, { kind, version }: Target): Answering {
  return { kind, version, form, now: cluster.now() }
}

function isStatus(result: ApiObject | Status): result is Status {
  return result.kind === 'Status'
}

function sendObject({ response }: Asked, code: number, object: ApiObject, answering: Answering): void {
  send(response, code, oneText(object, answering))
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
  sendJson(response, failure.status.code ?? 500, failure.status)
}

function sendJson(response: ServerResponse, code: number, body: unknown): void {
  send(response, code, JSON.stringify(body))
}

export function send(response: ServerResponse, code: number, text: string | Buffer, type = 'application/json'): void {
  response.writeHead(code, {
    'content-type': type,
    'content-length': Buffer.byteLength(text),
    'cache-control': 'no-cache, private',
  })
  response.end(text)
}
