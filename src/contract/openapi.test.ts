import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { choiceParameter, integerParameter, openApiDocument, type Route, timeParameter } from './openapi.ts'

const about = { title: 'Inventory', description: 'What every node has.', version: '0.1.0' }

function operation(route: Partial<Route>) {
  const whole: Route = { method: 'get', path: '/v1/nodes', summary: 'All nodes.', answers: {}, ...route }
  const { paths } = openApiDocument({ ...about, routes: [whole] }) as { paths: Record<string, Record<string, unknown>> }
  return paths[whole.path]?.[whole.method]
}

test('a document names the API, its license and the schema of a problem', () => {
  const { components, ...rest } = openApiDocument({ ...about, routes: [] })
  assert.deepEqual(rest, {
    openapi: '3.1.0',
    info: { ...about, license: { name: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    paths: {},
  })
  const { Problem } = (components as { schemas: { Problem: Record<string, unknown> } }).schemas
  assert.deepEqual(Object.keys(Problem), ['type', 'properties', 'required', 'additionalProperties', 'description'])
  assert.deepEqual(Problem['description'], 'Problem details (RFC 9457) with every invalid field by path.')
})

test('routes of one path are operations of one item', () => {
  const route = (method: 'get' | 'delete', path: string): Route => ({ method, path, summary: method, answers: {} })
  const routes = [route('get', '/a'), route('delete', '/a'), route('get', '/b')]
  assert.deepEqual(openApiDocument({ ...about, routes })['paths'], {
    '/a': { get: { summary: 'get', responses: {} }, delete: { summary: 'delete', responses: {} } },
    '/b': { get: { summary: 'get', responses: {} } },
  })
})

test('parameters are those of the path, then of the query, then headers', () => {
  const given = operation({
    path: '/v1/nodes/{node}/ports/{port}',
    query: {
      limit: integerParameter('Page size.', 1, 100),
      since: timeParameter('Not before.'),
      state: choiceParameter('Only these.', ['a', 'b']),
      q: 'Any text.',
    },
    headers: { 'x-provider-id': 'The cluster.' },
    required: ['x-provider-id', 'q'],
  })
  const text = { type: 'string' }
  assert.deepEqual(given, {
    summary: 'All nodes.',
    parameters: [
      { name: 'node', in: 'path', description: 'node', required: true, schema: text },
      { name: 'port', in: 'path', description: 'port', required: true, schema: text },
      {
        ...{ name: 'limit', in: 'query', description: 'Page size.', required: false },
        schema: { type: 'integer', minimum: 1, maximum: 100 },
      },
      {
        ...{ name: 'since', in: 'query', description: 'Not before.', required: false },
        schema: { type: 'string', format: 'date-time' },
      },
      {
        ...{ name: 'state', in: 'query', description: 'Only these.', required: false },
        schema: { type: 'string', enum: ['a', 'b'] },
      },
      { name: 'q', in: 'query', description: 'Any text.', required: true, schema: text },
      { name: 'x-provider-id', in: 'header', description: 'The cluster.', required: true, schema: text },
    ],
    responses: {},
  })
})

test('a parameter that no list requires is optional', () => {
  assert.deepEqual(operation({ query: { q: 'Any text.' } }), {
    summary: 'All nodes.',
    parameters: [{ name: 'q', in: 'query', description: 'Any text.', required: false, schema: { type: 'string' } }],
    responses: {},
  })
})

test('bodies, answers and problems have their media types and schemas', () => {
  // What a caller may leave out has a value in the answer.
  const body = z.object({ mtu: z.int32().default(1500) })
  const mtu = { type: 'integer', minimum: -2147483648, maximum: 2147483647, default: 1500 }
  const object = { type: 'object', properties: { mtu } }
  const given = operation({
    body,
    answers: {
      200: { description: 'Done.', body },
      202: { description: 'A page.', type: 'text/html' },
      204: { description: 'Empty.' },
    },
    problems: [400, 404],
  })
  const problem = {
    description: 'Problem details.',
    content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
  assert.deepEqual(given, {
    summary: 'All nodes.',
    requestBody: { required: true, content: { 'application/json': { schema: object } } },
    responses: {
      200: {
        description: 'Done.',
        content: { 'application/json': { schema: { ...object, required: ['mtu'], additionalProperties: false } } },
      },
      202: { description: 'A page.', content: { 'text/html': {} } },
      204: { description: 'Empty.' },
      400: problem,
      404: problem,
    },
  })
})

test('a schema that JSON cannot express stands for any value', () => {
  const answers = { 200: { description: 'Any.', body: z.date() } }
  assert.deepEqual(operation({ answers }), {
    summary: 'All nodes.',
    responses: { 200: { description: 'Any.', content: { 'application/json': { schema: {} } } } },
  })
})
