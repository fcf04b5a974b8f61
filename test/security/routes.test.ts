/** Every route that a server answers is in its OpenAPI document, except health, metrics, the document and the dashboard. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FastifyInstance } from 'fastify'
import { type Servers, startServers } from './servers.ts'

let servers: Servers
before(async () => {
  servers = await startServers()
})
after(() => servers[Symbol.asyncDispose]())

const undescribed = /^GET \/(healthz|readyz|metrics|openapi\.(json|yaml)|docs|[\w./-]*\.(js|css|svg))?$/

/** `GET /v1/nodes/{name}` for each registered route. */
function registered(app: FastifyInstance): string[] {
  const parents: string[] = []
  return app
    .printRoutes({ commonPrefix: false })
    .split('\n')
    .flatMap(line => {
      const [, indent = '', part = '', methods = ''] = /^([│ ]*)[├└]── (\S*) \((.*)\)$/.exec(line) ?? []
      if (part === '') return []
      const depth = indent.length / 4
      parents[depth] = part
      const path = parents.slice(0, depth + 1).join('')
      return methods.split(', ').map(method => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`)
    })
}

for (const name of ['viola', 'inventory', 'operator'] as const)
  test(`every route of ${name} is in its OpenAPI document`, async () => {
    const app = servers.apps[name]
    const document = (await app.inject('/openapi.json')).json() as { paths: Record<string, Record<string, unknown>> }
    const described = Object.entries(document.paths).flatMap(([path, operations]) =>
      Object.keys(operations).map(method => `${method.toUpperCase()} ${path}`),
    )
    const routes = registered(app)
    assert.deepEqual(
      described.filter(route => !routes.includes(route)),
      [],
      'not served',
    )
    const missing: string[] = []
    for (const route of routes.filter(one => !one.startsWith('HEAD ') && !undescribed.test(one))) {
      if (described.includes(route)) continue
      const [method, path = ''] = route.split(' ')
      const { statusCode } = await app.inject({ method: method as 'GET', url: path.replaceAll(/[{}]/g, '') })
      if (statusCode !== 405) missing.push(route)
    }
    assert.deepEqual(missing, [])
  })
