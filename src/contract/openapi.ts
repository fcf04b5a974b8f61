/**
 * Routes as data → OpenAPI 3.1. A server registers the same routes, so the document lists exactly what is served.
 */
import * as z from 'zod'
import { problem } from './problem.ts'

/** The description of a parameter, with a schema if it is not any text. */
export type Parameter = string | { text: string; schema: { type: 'string' | 'integer' } & Record<string, unknown> }

export function integerParameter(text: string, minimum: number, maximum: number): Parameter {
  return { text, schema: { type: 'integer', minimum, maximum } }
}

export function timeParameter(text: string): Parameter {
  return { text, schema: { type: 'string', format: 'date-time' } }
}

export function choiceParameter(text: string, values: readonly string[]): Parameter {
  return { text, schema: { type: 'string', enum: values } }
}

export interface Route {
  method: 'get' | 'post' | 'put' | 'delete'
  /** With `{name}` for parameters. */
  path: string
  summary: string
  /** Query parameters and headers by name; required ones are listed in `required`. */
  query?: Record<string, Parameter>
  headers?: Record<string, Parameter>
  required?: string[]
  body?: z.ZodType
  /** Maximum length of the body. Default: 1 MiB. */
  maxBodyBytes?: number
  /** Content by status. A string is a media type of plain content. */
  answers: Record<number, { description: string; body?: z.ZodType; type?: string }>
  /** Statuses that answer a problem. */
  problems?: number[]
}

export interface Api {
  title: string
  description: string
  version: string
  routes: Route[]
  /** Query parameters that a route does not have are ignored: newer callers may send more. Default: they are refused. */
  ignoresUnknownQuery?: boolean
}

export function openApiDocument(api: Api): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of api.routes) {
    paths[route.path] ??= {}
    Object.assign(paths[route.path] ?? {}, { [route.method]: operationOf(route) })
  }
  return {
    openapi: '3.1.0',
    info: { title: api.title, description: api.description, version: api.version, license: { name: 'Apache-2.0' } },
    servers: [{ url: '/' }],
    paths,
    components: { schemas: { Problem: jsonOf(problem) } },
  }
}

function operationOf(route: Route): object {
  const parameter =
    (place: string) =>
    ([name, given]: [string, Parameter]) => ({
      name,
      in: place,
      description: typeof given === 'string' ? given : given.text,
      required: place === 'path' || route.required?.includes(name) === true,
      schema: typeof given === 'string' ? { type: 'string' } : given.schema,
    })
  const inPath = [...route.path.matchAll(/(?<=\{)\w+(?=\})/g)].map(([name]): [string, string] => [name, name])
  const parameters = [
    ...inPath.map(parameter('path')),
    ...Object.entries(route.query ?? {}).map(parameter('query')),
    ...Object.entries(route.headers ?? {}).map(parameter('header')),
  ]
  const answers = Object.entries(route.answers).map(([status, { description, body, type }]) => [
    status,
    {
      description,
      ...(body ? { content: { 'application/json': { schema: jsonOf(body) } } } : {}),
      ...(type ? { content: { [type]: {} } } : {}),
    },
  ])
  const problems = (route.problems ?? []).map(status => [
    String(status),
    {
      description: 'Problem details.',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    },
  ])
  return {
    summary: route.summary,
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(route.body
      ? { requestBody: { required: true, content: { 'application/json': { schema: jsonOf(route.body, 'input') } } } }
      : {}),
    responses: Object.fromEntries([...answers, ...problems]),
  }
}

function jsonOf(schema: z.ZodType, io: 'input' | 'output' = 'output'): unknown {
  const json = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return Object.fromEntries(Object.entries(json).filter(([key]) => key !== '$schema'))
}
