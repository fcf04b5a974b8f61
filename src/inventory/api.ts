/**
 * Routes of the inventory API as data. The app registers them, and the OpenAPI document is generated from them.
 */
import * as z from 'zod'
import { auditActions, auditEntry, auditPath } from '../contract/audit.ts'
import {
  deviation,
  historyEntry,
  holdersAnswer,
  inventoryRecord,
  inventoryWrites,
  inventoryWritten,
  maxRecordsBytes,
  providerCatalog,
  providerRecordsPath,
  recordsPath,
  searchHit,
  sessionPath,
} from '../contract/inventory.ts'
import { states } from '../contract/node-config.ts'
import { type Api, choiceParameter, integerParameter, timeParameter } from '../contract/openapi.ts'
import {
  storedPlansAnswer,
  storedPlansPath,
  verdictsAnswer,
  verdictsPath,
  verdictsQuery,
} from '../contract/operator-api.ts'

const headers = {
  authorization:
    'Bearer token of a caller with the right to list MultiNicNodeConfigs, or to update the providers of a write.',
  'if-none-match': 'ETag of an earlier response.',
}
const notModified = { 304: { description: 'Not modified since that ETag.' } }
/** Access denied, rate limit exceeded, database unavailable. */
const common = [401, 403, 429, 503]
const records = z.array(inventoryRecord)
const ofNode = { providerId: 'Required if several providers have a node of this name.' }
const at = timeParameter('State at this time (RFC 3339). Default: now.')
export const maxId = Number.MAX_SAFE_INTEGER
export const maxPageSize = 5_000
export const maxEntries = 1_000

export const rootPath = '/v1/inventory'
export const inventoryPath = `${rootPath}/node-configs`
export const interfacesPath = '/v1/interfaces'

export const inventoryApi: Api = {
  title: 'MultiNIC inventory API',
  description: 'Requested and observed network interfaces of every node, with their history.',
  version: '1.0',
  routes: [
    {
      method: 'get',
      path: inventoryPath,
      summary: 'List node records, sorted by provider and name.',
      headers,
      query: {
        providerId: 'Only nodes of this provider.',
        nodeName: 'Only nodes of this name.',
        instanceId: 'Only nodes with this OpenStack VM ID.',
        state: choiceParameter('Only nodes in this state.', states),
        networkId: 'Only nodes with an interface in this network.',
        subnetId: 'Only nodes with an interface in this subnet.',
        source: 'Only nodes with an interface of this OpenstackConfig (namespace/name).',
        q: 'Prefix of an IP address, MAC address, port ID, VM ID or provider ID, or of the name of a node, VM, subnet, network or provider.',
        at,
        limit: integerParameter('Page size; the Link header points to the next page.', 1, maxPageSize),
        cursor: 'Start of the next page, from the Link header.',
        format: choiceParameter('`csv`: one line per interface instead of JSON.', ['json', 'csv']),
      },
      answers: { 200: { description: 'Node records.', body: records }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}`,
      summary: 'Get the record of one node.',
      headers,
      query: { ...ofNode, at },
      answers: { 200: { description: 'Node record.', body: inventoryRecord }, ...notModified },
      problems: [400, 404, ...common],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}/history`,
      summary: 'List changes of one node, newest first, with the record before and after each change.',
      headers,
      query: {
        ...ofNode,
        limit: integerParameter('Maximum number of entries. Default: 100.', 1, maxEntries),
        before: integerParameter('Only entries older than this ID.', 1, maxId),
      },
      answers: { 200: { description: 'History entries.', body: z.array(historyEntry) }, ...notModified },
      problems: [400, 404, ...common],
    },
    {
      method: 'get',
      path: `${rootPath}/history`,
      summary: 'List changes of all nodes, newest first.',
      headers,
      query: {
        providerId: 'Only nodes of this provider.',
        nodeName: 'Only nodes of this name.',
        limit: integerParameter('Maximum number of entries. Default: 100.', 1, maxEntries),
        before: integerParameter('Only entries older than this ID.', 1, maxId),
      },
      answers: { 200: { description: 'History entries.', body: z.array(historyEntry) }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${rootPath}/search`,
      summary: 'Find addresses, MAC addresses, ports, VMs, nodes, subnets, networks and providers by prefix.',
      headers,
      query: {
        q: 'Prefix of the value.',
        limit: integerParameter('Maximum number of matches. Default: 50.', 1, maxEntries),
      },
      required: ['q'],
      answers: { 200: { description: 'Matches, each with its location.', body: z.array(searchHit) }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${rootPath}/holders`,
      summary: 'List the interfaces that have or ever had an address, a MAC address or a port.',
      headers,
      query: { q: 'The complete IP address, MAC address or port ID.' },
      required: ['q'],
      answers: {
        200: { description: 'Holders, and how far back the history goes.', body: holdersAnswer },
        ...notModified,
      },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${rootPath}/deviations`,
      summary: 'List interfaces whose state differs from the request.',
      headers,
      query: { providerId: 'Only nodes of this provider.' },
      answers: { 200: { description: 'Interfaces with their differences.', body: z.array(deviation) }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${rootPath}/events`,
      summary: 'Stream history entries as server-sent events. The event ID is the ID of the entry.',
      headers: {
        authorization: headers.authorization,
        'last-event-id': integerParameter('ID of the last received event. The stream resumes after it.', 0, maxId),
      },
      query: {
        providerId: 'Only nodes of this provider.',
        after: integerParameter('Same as last-event-id.', 0, maxId),
      },
      answers: { 200: { description: 'Event stream.', type: 'text/event-stream' } },
      problems: [400, ...common],
    },
    {
      method: 'put',
      path: recordsPath,
      summary: 'Write node records, verdicts and audit entries. Each difference of a record becomes a history entry.',
      headers,
      required: ['authorization'],
      body: inventoryWrites,
      maxBodyBytes: maxRecordsBytes,
      answers: {
        200: { description: 'All records and verdicts are stored.', body: inventoryWritten },
        204: { description: 'All records are stored. The request had no verdicts.' },
      },
      problems: [400, 413, 415, ...common],
    },
    {
      method: 'get',
      path: verdictsPath,
      summary: 'List verdicts of the last syncs: why a port is, or is not, an interface of its node.',
      headers: { ...headers, authorization: 'Bearer token of a caller who may list OpenstackConfigs.' },
      query: verdictsQuery,
      answers: {
        200: { description: 'Verdicts, sorted by provider, OpenstackConfig, VM and port.', body: verdictsAnswer },
        204: { description: 'No operator has written verdicts.' },
        ...notModified,
      },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: storedPlansPath,
      summary: 'Show what the last sync of an OpenstackConfig planned.',
      headers: { ...headers, authorization: 'Bearer token of a caller who may get this OpenstackConfig.' },
      query: { config: verdictsQuery.config },
      required: ['config'],
      answers: {
        200: { description: 'One plan for each provider; empty if none is stored.', body: storedPlansAnswer },
        ...notModified,
      },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: auditPath,
      summary:
        'List who asked for what, newest first, at most 1,000 entries: approvals, changes, edits by hand, writes.',
      headers: { ...headers, authorization: 'Bearer token of a caller who may list OpenstackConfigs.' },
      query: {
        from: timeParameter('Only entries from this time on (RFC 3339).'),
        to: timeParameter('Only entries before this time (RFC 3339).'),
        action: choiceParameter('Only entries with this action.', auditActions),
        object: 'Only entries about this object.',
        caller: 'Only entries of this caller.',
        before: integerParameter('Only entries older than this ID.', 1, maxId),
        format: choiceParameter('`jsonl`: one JSON object per line. `csv`: with a header line.', [
          'json',
          'jsonl',
          'csv',
        ]),
      },
      answers: { 200: { description: 'Audit entries.', body: z.array(auditEntry) }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${interfacesPath}/providers`,
      summary: 'List providers with their nodes.',
      headers,
      answers: { 200: { description: 'Providers.', body: providerCatalog }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: providerRecordsPath,
      summary: 'List node records of one provider. Whoever may write them may list them.',
      headers,
      query: { providerId: 'Provider ID.' },
      required: ['providerId'],
      answers: { 200: { description: 'Node records; empty for an unknown provider.', body: records }, ...notModified },
      problems: [400, ...common],
    },
    {
      method: 'get',
      path: `${providerRecordsPath}/by-instance/{instanceId}`,
      summary: 'List records of the node with this OpenStack VM ID.',
      headers,
      query: { providerId: 'Only nodes of this provider.' },
      answers: { 200: { description: 'Node records.', body: records }, ...notModified },
      problems: [400, 404, ...common],
    },
    {
      method: 'post',
      path: sessionPath,
      summary: 'Sign in: exchange a token for a cookie that is valid for reading.',
      body: z.object({ token: z.string() }),
      answers: { 204: { description: 'Signed in; the response sets the cookie.' } },
      problems: [400, 413, 415, ...common],
    },
    {
      method: 'get',
      path: sessionPath,
      summary: 'Show who is signed in.',
      headers: { authorization: headers.authorization },
      answers: { 200: { description: 'The user.', body: z.object({ user: z.string() }) } },
      problems: common,
    },
    {
      method: 'delete',
      path: sessionPath,
      summary: 'Sign out: remove the cookie.',
      answers: { 204: { description: 'Signed out.' } },
      problems: [429],
    },
  ],
}
