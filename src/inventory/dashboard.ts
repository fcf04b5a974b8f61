/**
 * Serves the dashboard at `/` from memory: a few files, compressed at build time. The content security policy forbids inline
 * code and content of other origins.
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
  compressed: Partial<Record<'br' | 'gzip', Buffer>>
}

/** Without a bundle, `/` links to the API documentation. */
export function serveDashboard(app: FastifyInstance, dir: string | undefined, log: Log): void {
  const found = dir ?? findDashboard()
  const assets = found === undefined ? new Map<string, Asset>() : loadAssets(found)
  const page = assets.get('index.html')
  if (dir !== undefined && !page) log.warn('directory contains no dashboard', { dir })
  for (const [path, asset] of assets)
    if (asset !== page) app.get(`/${path}`, async (request, reply) => sendAsset(request, reply, asset, true))
  app.get('/', async (request, reply) =>
    page
      ? sendAsset(request, reply, page, false)
      : withSecurityHeaders(reply).type('text/html; charset=utf-8').send(fallbackPage),
  )
}

/** Next to the bundled program, or in `dist` of a checkout. */
function findDashboard(): string | undefined {
  const places = [join(import.meta.dirname, 'web'), join(import.meta.dirname, '../../dist/web')]
  return places.find(place => existsSync(join(place, 'index.html')))
}

function loadAssets(dir: string): Map<string, Asset> {
  const paths = globSync('**/*', { cwd: dir }).filter(path => types[extname(path)] !== undefined)
  return new Map(
    paths.map(path => {
      const plain = readFileSync(join(dir, path))
      const compressed = encodings
        .filter(([, ending]) => existsSync(join(dir, path + ending)))
        .map(([encoding, ending]) => [encoding, readFileSync(join(dir, path + ending))])
      const version = createHash('sha256').update(plain).digest('hex').slice(0, 20)
      return [path, { type: types[extname(path)] ?? '', version, plain, compressed: Object.fromEntries(compressed) }]
    }),
  )
}

function sendAsset(request: FastifyRequest, reply: FastifyReply, asset: Asset, immutable: boolean): FastifyReply {
  const notModified = isNotModified(request, reply, asset.version)
  // Every file name except that of the page contains a hash of the content.
  if (immutable) reply.header('cache-control', 'public, max-age=31536000, immutable')
  withSecurityHeaders(reply).header('vary', 'accept-encoding')
  if (notModified) return reply.code(304).send()
  const accepted = (request.headers['accept-encoding'] ?? '').split(',').map(one => one.trim().split(';', 1)[0])
  const [encoding] = encodings.find(([name]) => accepted.includes(name) && asset.compressed[name]) ?? []
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(asset.type).send((encoding && asset.compressed[encoding]) ?? asset.plain)
}

function withSecurityHeaders(reply: FastifyReply): FastifyReply {
  return reply.header('content-security-policy', policy).header('referrer-policy', 'no-referrer')
}

const fallbackPage = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MultiNIC inventory</title>
<h1>MultiNIC inventory</h1><p>This server has no dashboard. See <a href="/docs">/docs</a> for the API.</p></html>\n`
