/**
 * The routes of the Viola API as data: the app registers these, and the OpenAPI page is made of them.
 */
import type { Api } from '../contract/openapi.ts'
import { providerHeader, violaListAnswer, violaPath, violaPost, violaPostAnswer } from '../contract/viola.ts'

const headers = {
  [providerHeader]: 'Provider id of the Biz cluster: decides which cluster is spoken to.',
  authorization: 'Bearer token, where authentication is on and no client certificate is shown.',
}
const traced = { ...headers, traceparent: 'W3C trace context of the caller; goes into logs and changed objects.' }
const required = [providerHeader]

export const violaApi: Api = {
  title: 'Viola API',
  description: 'Takes node configs and makes MultiNicNodeConfig objects of them, in the right Biz cluster.',
  version: '1.0',
  routes: [
    {
      method: 'post',
      path: violaPath,
      summary: 'Apply node configs. A repeated body writes nothing; nothing of a bad body is applied.',
      headers: traced,
      required,
      query: { force: 'true takes fields over that another controller owns.' },
      body: violaPost,
      answers: {
        200: { description: 'All nodes got through.', body: violaPostAnswer },
        409: {
          description: 'A node’s object is not what was expected; the others got through.',
          body: violaPostAnswer,
        },
        502: { description: 'The cluster refused a node; the others got through.', body: violaPostAnswer },
        504: { description: 'The cluster is away; nodes that got through are named.', body: violaPostAnswer },
      },
      problems: [400, 401, 403, 404, 413, 503],
    },
    {
      method: 'get',
      path: violaPath,
      summary: 'Node configs of the provider, with status, as the cluster holds them.',
      headers: { ...headers, 'if-none-match': 'ETag of an earlier answer.' },
      required,
      query: {
        nodeName: 'Only this node.',
        since: 'resourceVersion of an earlier answer: 304 while nothing has changed since.',
        watch: 'true (or accept: text/event-stream): every change as it happens, as server-sent events.',
      },
      answers: {
        200: { description: 'The node configs.', body: violaListAnswer },
        304: { description: 'Nothing has changed.' },
      },
      problems: [400, 401, 403, 404, 502, 503, 504],
    },
    {
      method: 'delete',
      path: `${violaPath}/{nodeName}`,
      summary: 'Delete a node config. No error when it is gone already.',
      headers: traced,
      required,
      query: { expectedSpecHash: 'Hash that the cluster must hold; another one is a 409.' },
      answers: { 204: { description: 'It is deleted, or its deletion has begun.' } },
      problems: [400, 401, 403, 404, 409, 502, 503, 504],
    },
  ],
}
