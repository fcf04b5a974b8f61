/**
 * The routes of the inventory API as data: the app registers these, and the OpenAPI page is made of them.
 */
import { z } from 'zod'
import {
  deviation,
  historyEntry,
  inventoryRecord,
  inventoryWrites,
  providerCatalog,
  recordsPath,
  searchHit,
} from '../contract/inventory.ts'
import type { Api } from '../contract/openapi.ts'

const headers = {
  authorization: 'Bearer token, where a token file is set.',
  'if-none-match': 'ETag of an earlier answer.',
}
const unchanged = { 304: { description: 'Nothing has changed.' } }
/** Who may not ask, who asks too much, and a database that is away. */
const always = [401, 403, 429, 503]
const records = z.array(inventoryRecord)
const ofNode = { providerId: 'Needed only where several providers have a node of this name.' }
const at = 'State at this time (RFC 3339) instead of now.'

export const rootPath = '/v1/inventory'
export const inventoryPath = `${rootPath}/node-configs`
export const interfacesPath = '/v1/interfaces'

export const inventoryApi: Api = {
  title: 'MultiNIC inventory API',
  description: 'What every node was given and has, why, since when, and what it had before.',
  version: '1.0',
  routes: [
    {
      method: 'get',
      path: inventoryPath,
      summary: 'Records of nodes, in the order of provider and name.',
      headers,
      query: {
        providerId: 'Only nodes of this provider.',
        nodeName: 'Only nodes of this name.',
        instanceId: 'Only the node that is this VM.',
        state: 'Only nodes in this state: Pending, InProgress, Configured or Failed.',
        networkId: 'Only nodes with an interface in this network.',
        subnetId: 'Only nodes with an interface in this subnet.',
        source: 'Only nodes with an interface from this OpenstackConfig (namespace/name).',
        q: 'Beginning of an IP or MAC address, of a port id, a VM id, a node name or a provider id.',
        at,
        limit: 'At most so many; a Link header then leads to the next page.',
        cursor: 'Where the next page starts, from the Link header.',
        format: 'csv gives one line an interface instead.',
      },
      answers: { 200: { description: 'The records.', body: records }, ...unchanged },
      problems: [400, ...always],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}`,
      summary: 'The record of one node.',
      headers,
      query: { ...ofNode, at },
      answers: { 200: { description: 'The record.', body: inventoryRecord }, ...unchanged },
      problems: [400, 404, ...always],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}/history`,
      summary: 'What changed on one node, newest first, with the record before and after.',
      headers,
      query: { ...ofNode, limit: 'At most so many, 100 when absent.', before: 'Only entries older than this id.' },
      answers: { 200: { description: 'The history.', body: z.array(historyEntry) }, ...unchanged },
      problems: [400, 404, ...always],
    },
    {
      method: 'get',
      path: `${rootPath}/history`,
      summary: 'What changed anywhere, newest first.',
      headers,
      query: {
        providerId: 'Only of this provider.',
        limit: 'At most so many, 100 when absent.',
        before: 'Only entries older than this id.',
      },
      answers: { 200: { description: 'The history.', body: z.array(historyEntry) }, ...unchanged },
      problems: [400, ...always],
    },
    {
      method: 'get',
      path: `${rootPath}/search`,
      summary: 'Single values by their beginning: addresses, MACs, ports, VMs, nodes, and where they are.',
      headers,
      query: { q: 'Beginning of the value.', limit: 'At most so many, 50 when absent.' },
      required: ['q'],
      answers: { 200: { description: 'The values.', body: z.array(searchHit) }, ...unchanged },
      problems: [400, ...always],
    },
    {
      method: 'get',
      path: `${rootPath}/deviations`,
      summary: 'Interfaces that are not as they were asked for.',
      headers,
      query: { providerId: 'Only of this provider.' },
      answers: { 200: { description: 'The interfaces.', body: z.array(deviation) }, ...unchanged },
      problems: always,
    },
    {
      method: 'get',
      path: `${rootPath}/events`,
      summary: 'Every change as it happens, as server-sent events: the entry of the history, its id to resume from.',
      headers: {
        authorization: headers.authorization,
        'last-event-id': 'Id of the last event that was seen: those after it come first.',
      },
      query: { providerId: 'Only of this provider.', after: 'As last-event-id.' },
      answers: { 200: { description: 'The stream.', type: 'text/event-stream' } },
      problems: [400, ...always],
    },
    {
      method: 'put',
      path: recordsPath,
      summary: 'Write records. Only differences are written, and each becomes history. Needs an admin token.',
      headers,
      required: ['authorization'],
      body: inventoryWrites,
      answers: { 204: { description: 'They are written.' } },
      problems: [400, 413, 415, ...always],
    },
    {
      method: 'get',
      path: `${interfacesPath}/providers`,
      summary: 'Providers with their nodes.',
      headers,
      answers: { 200: { description: 'The providers.', body: providerCatalog }, ...unchanged },
      problems: always,
    },
    {
      method: 'get',
      path: `${interfacesPath}/node-configs`,
      summary: 'Records of the nodes of one provider.',
      headers,
      query: { providerId: 'The provider.' },
      required: ['providerId'],
      answers: { 200: { description: 'The records; none for an unknown provider.', body: records }, ...unchanged },
      problems: [400, ...always],
    },
    {
      method: 'get',
      path: `${interfacesPath}/node-configs/by-instance/{instanceId}`,
      summary: 'Records of the node that is this VM.',
      headers,
      query: { providerId: 'Only of this provider.' },
      answers: { 200: { description: 'The records.', body: records }, ...unchanged },
      problems: [400, 404, ...always],
    },
  ],
}
