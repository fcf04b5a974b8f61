/**
 * The routes of the inventory API as data: the app registers these, and the OpenAPI page is made of them.
 */
import { z } from 'zod'
import { historyEntry, inventoryRecord, inventoryWrites, providerCatalog } from '../contract/inventory.ts'
import type { Api } from '../contract/openapi.ts'

const headers = { authorization: 'Bearer token, where a token file is set.' }
const records = z.array(inventoryRecord)
const ofNode = { providerId: 'Needed only where several providers have a node of this name.' }
const at = 'State at this time (RFC 3339) instead of now.'

export const inventoryPath = '/v1/inventory/node-configs'
export const interfacesPath = '/v1/interfaces'
export const recordsPath = '/v1/inventory/records'

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
        q: 'Beginning of an IP or MAC address, of a port id, a VM id, a node name or a provider id.',
        at,
        limit: 'At most so many; a Link header then leads to the next page.',
        cursor: 'Where the next page starts, from the Link header.',
      },
      answers: { 200: { description: 'The records.', body: records } },
      problems: [400, 401, 403],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}`,
      summary: 'The record of one node.',
      headers,
      query: { ...ofNode, at },
      answers: { 200: { description: 'The record.', body: inventoryRecord } },
      problems: [400, 401, 403, 404],
    },
    {
      method: 'get',
      path: `${inventoryPath}/{nodeName}/history`,
      summary: 'What changed on one node, newest first, with the record before and after.',
      headers,
      query: { ...ofNode, limit: 'At most so many, 100 when absent.', before: 'Only entries older than this id.' },
      answers: { 200: { description: 'The history.', body: z.array(historyEntry) } },
      problems: [400, 401, 403, 404],
    },
    {
      method: 'put',
      path: recordsPath,
      summary: 'Write records. Only differences are written, and each becomes history. Needs an admin token.',
      headers,
      required: ['authorization'],
      body: inventoryWrites,
      answers: { 204: { description: 'They are written.' } },
      problems: [400, 401, 403, 413],
    },
    {
      method: 'get',
      path: `${interfacesPath}/providers`,
      summary: 'Providers with their nodes.',
      headers,
      answers: { 200: { description: 'The providers.', body: providerCatalog } },
      problems: [401, 403],
    },
    {
      method: 'get',
      path: `${interfacesPath}/node-configs`,
      summary: 'Records of the nodes of one provider.',
      headers,
      query: { providerId: 'The provider.' },
      required: ['providerId'],
      answers: { 200: { description: 'The records; none for an unknown provider.', body: records } },
      problems: [400, 401, 403],
    },
    {
      method: 'get',
      path: `${interfacesPath}/node-configs/by-instance/{instanceId}`,
      summary: 'Records of the node that is this VM.',
      headers,
      query: { providerId: 'Only of this provider.' },
      answers: { 200: { description: 'The records.', body: records } },
      problems: [400, 401, 403, 404],
    },
  ],
}
