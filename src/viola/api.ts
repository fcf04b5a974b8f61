/**
 * Routes of the Viola API as data. The app registers them, and the OpenAPI document is generated from them.
 */
import type { Api, Parameter } from '../contract/openapi.ts'
import {
  maxPostBytes,
  providerHeader,
  violaListAnswer,
  violaNodesAnswer,
  violaNodesPath,
  violaPath,
  violaPost,
  violaPostAnswer,
} from '../contract/viola.ts'

const headers = {
  [providerHeader]: {
    text: 'Provider ID; selects the Biz cluster.',
    schema: { type: 'string', minLength: 1, maxLength: 253 },
  } satisfies Parameter,
  authorization: 'Bearer token of a caller with rights on the provider. Not required with a client certificate.',
}
const traced = { ...headers, traceparent: 'W3C trace context of the caller, for logs and changed objects.' }
const required = [providerHeader]

export const violaApi: Api = {
  title: 'Viola API',
  description: 'Applies node configs as MultiNicNodeConfig objects in the Biz cluster of the provider.',
  version: '1.0',
  ignoresUnknownQuery: true,
  routes: [
    {
      method: 'post',
      path: violaPath,
      summary: 'Apply node configs. A repeated body writes nothing, and an invalid body applies nothing.',
      headers: traced,
      required,
      query: { force: '`true`: take over fields that another controller owns.' },
      body: violaPost,
      maxBodyBytes: maxPostBytes,
      answers: {
        200: { description: 'All nodes are applied.', body: violaPostAnswer },
        409: {
          description: 'The object of a node differs from the expected one. Other nodes are applied.',
          body: violaPostAnswer,
        },
        502: { description: 'The cluster refused a node. Other nodes are applied.', body: violaPostAnswer },
        504: {
          description: 'The cluster is unreachable. The response lists the nodes that are applied.',
          body: violaPostAnswer,
        },
      },
      problems: [400, 401, 403, 404, 413, 503],
    },
    {
      method: 'get',
      path: violaPath,
      summary: 'List node configs of the provider with their status.',
      headers: { ...headers, 'if-none-match': 'ETag of an earlier response.' },
      required,
      query: {
        nodeName: 'Only this node.',
        limit: 'Page size; the Link header points to the next page.',
        cursor: 'Start of the next page, from the Link header.',
        since:
          'resourceVersion of an earlier response. The response is a 304 if nothing changed since. With `watch`, any value: the stream starts with the event `synced` and the current resourceVersion instead of all node configs.',
        watch:
          '`true` (or accept: text/event-stream): stream all node configs, then every change, as server-sent events `added`, `updated` and `deleted`.',
      },
      answers: {
        200: { description: 'Node configs.', body: violaListAnswer },
        304: { description: 'Not modified since that version.' },
      },
      problems: [400, 401, 403, 404, 502, 503, 504],
    },
    {
      method: 'delete',
      path: `${violaPath}/{nodeName}`,
      summary: 'Delete a node config. Succeeds if it does not exist.',
      headers: traced,
      required,
      query: { expectedSpecHash: 'Expected hash of the object in the cluster. A mismatch is a 409.' },
      answers: { 204: { description: 'The node config is deleted or is being deleted.' } },
      problems: [400, 401, 403, 404, 409, 502, 503, 504],
    },
    {
      method: 'get',
      path: violaNodesPath,
      summary: 'List the Nodes of the cluster of the provider, with their machines.',
      headers: { ...headers, 'if-none-match': 'ETag of an earlier response.' },
      required,
      query: {
        watch:
          '`true` (or accept: text/event-stream): stream the `resourceVersion` of the list as server-sent events, now and after each change.',
      },
      answers: {
        200: { description: 'Nodes.', body: violaNodesAnswer },
        304: { description: 'Not modified since that version.' },
      },
      problems: [400, 401, 403, 404, 502, 503, 504],
    },
  ],
}
