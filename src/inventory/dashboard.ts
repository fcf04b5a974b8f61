/**
 * Serves the dashboard at `/`: a few files that were bundled and compressed beforehand, held in memory, under a policy that
 * allows nothing from elsewhere and nothing inline.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isNotModified } from '../server/routes.ts'
import type { Log } from '../telemetry/log.ts'

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const encodings = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const

interface Asset {
  type: string
  version: string
  plain: Buffer
  packed: Partial<Record<'br' | 'gzip', Buffer>>
}

/** Without a bundle, `/` says where the API is described. */
export function serveDashboard(app: FastifyInstance, dir: string | undefined, log: Log): void {
  const found = dir ?? builtDashboard()
  const assets = found === undefined ? new Map<string, Asset>() : assetsIn(found)
  const page = assets.get('index.html')
  if (dir !== undefined && !page) log.warn('there is no dashboard in this directory', { dir })
  for (const [path, asset] of assets)
    if (asset !== page) app.get(`/${path}`, async (request, reply) => sent(request, reply, asset, true))
  app.get('/', async (request, reply) =>
    page ? sent(request, reply, page, false) : guarded(reply).type('text/html; charset=utf-8').send(withoutDashboard),
  )
}

/** Next to the bundled program, or where the checkout puts it. */
function builtDashboard(): string | undefined {
  const places = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../dist/web')]
  return places.find(place => existsSync(join(place, 'index.html')))
}

function assetsIn(dir: string): Map<string, Asset> {
  const paths = globSync('**/*', { cwd: dir }).filter(path => types[extname(path)] !== undefined)
  return new Map(
    paths.map(path => {
      const plain = readFileSync(join(dir, path))
      const packed = encodings
        .filter(([, ending]) => existsSync(join(dir, path + ending)))
        .map(([encoding, ending]) => [encoding, readFileSync(join(dir, path + ending))])
      const version = createHash('sha256').update(plain).digest('hex').slice(0, 20)
      return [path, { type: types[extname(path)] ?? '', version, plain, packed: Object.fromEntries(packed) }]
    }),
  )
}

function sent(request: FastifyRequest, reply: FastifyReply, asset: Asset, named: boolean): FastifyReply {
  const had = isNotModified(request, reply, asset.version)
  // The names of all but the page change with what is in them.
  if (named) reply.header('cache-control', 'public, max-age=31536000, immutable')
  guarded(reply).header('vary', 'accept-encoding')
  if (had) return reply.code(304).send()
  const accepted = (request.headers['accept-encoding'] ?? '').split(',').map(one => one.trim().split(';', 1)[0])
  const [encoding] = encodings.find(([name]) => accepted.includes(name) && asset.packed[name]) ?? []
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(asset.type).send((encoding && asset.packed[encoding]) ?? asset.plain)
}

function guarded(reply: FastifyReply): FastifyReply {
  return reply
    .header('content-security-policy', policy)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
}

const withoutDashboard = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MultiNIC inventory</title>
<h1>MultiNIC inventory</h1><p>The dashboard is not built here. The API is described at <a href="/docs">/docs</a>.</p></html>\n`
