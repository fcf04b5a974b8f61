/**
 * Bundles for production: the agent as one file without dependencies, all services as another, the CLI as a third, and
 * the dashboard.
 *
 * deployments/images/<bundle>.deps.txt lists the packages of each bundle, so that a new dependency shows up in review.
 */
import { chmodSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'
import { buildWeb } from '../web/build.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

export async function buildAgent(outfile: string): Promise<string[]> {
  return bundle(['src/agent/entry.ts'], 'cjs', { outfile, minify: true })
}

/**
 * The services. What a component does not use stays in files of its own, `multinic-*.mjs` beside the program: V8 keeps the
 * text of every file that it loads.
 */
export async function buildProgram(outfile: string): Promise<string[]> {
  const { dir, name } = parse(outfile)
  for (const part of programParts(outfile)) rmSync(join(dir, part))
  return bundle({ [name]: 'src/main.ts' }, 'esm', {
    outdir: dir,
    outExtension: { '.js': '.mjs' },
    splitting: true,
    chunkNames: `${name}-[hash]`,
    plugins: [clientsOfUndici],
    external: unusedByFastify,
  })
}

/** Fastify would load them for JSON schemas, its own log and injected requests. Our servers use none of these. */
const unusedByFastify = ['@fastify/ajv-compiler', '@fastify/fast-json-stringify-compiler', 'light-my-request', 'pino']

/** The names of the files that the program loads. */
export function programParts(outfile: string): string[] {
  const { dir, name } = parse(outfile)
  return globSync(`${name}-*.mjs`, { cwd: dir }).sort()
}

/** The CLI: an executable file for Node 20 and later that works in any directory and under any name. */
export async function buildCli(outfile: string): Promise<string[]> {
  const packages = await bundle(['src/cli/entry.ts'], 'cjs', {
    outfile,
    target: 'node20.11',
    banner: { js: '#!/usr/bin/env node' },
    plugins: [clientsOfUndici],
  })
  chmodSync(outfile, 0o755)
  return packages
}

/**
 * The index of undici loads fetch, caches and mocks, which nothing here uses: 4 MiB of memory. It also needs zstd, which Node
 * 20 does not have. The modules of its clients do not. Only a port-forward needs a WebSocket.
 */
const clientsOfUndici: Plugin = {
  name: 'clients-of-undici',
  setup(esbuild) {
    const clients = {
      Agent: 'agent',
      Pool: 'pool',
      ProxyAgent: 'proxy-agent',
      EnvHttpProxyAgent: 'env-http-proxy-agent',
    }
    // ES modules: the build fails if our code imports anything else.
    const modules: Record<string, string[]> = {
      clients: [
        "import api from 'undici/lib/api/index.js'",
        "import { parseURL } from 'undici/lib/core/util.js'",
        "import Dispatcher from 'undici/lib/dispatcher/dispatcher.js'",
        "import { getGlobalDispatcher } from 'undici/lib/global.js'",
        'Object.assign(Dispatcher.prototype, api)',
        ...Object.entries(clients).map(
          ([name, file]) => `export { default as ${name} } from 'undici/lib/dispatcher/${file}.js'`,
        ),
        'export const request = (url, { dispatcher = getGlobalDispatcher(), ...options }) => {',
        '  const { origin, pathname, search } = parseURL(url)',
        '  return api.request.call(dispatcher, { ...options, origin, path: pathname + search })',
        '}',
      ],
      websocket: [
        "import { webidl } from 'undici/lib/web/webidl/index.js'",
        "export { WebSocket } from 'undici/lib/web/websocket/websocket.js'",
        // Node 20 cannot mark objects, and nothing here clones one.
        'webidl.util.markAsUncloneable ??= () => {}',
      ],
    }
    esbuild.onResolve({ filter: /^undici$/ }, ({ importer }) => ({
      path: importer.endsWith('/src/kube/port-forward.ts') ? 'websocket' : 'clients',
      namespace: 'undici',
    }))
    esbuild.onLoad({ filter: /.*/, namespace: 'undici' }, ({ path }) => ({
      contents: modules[path]?.join('\n') ?? '',
      resolveDir: root,
    }))
  },
}

/** Returns the packages in the bundle. Throws if it contains code of the sandbox, the tests or the scripts. */
export async function bundle(
  entryPoints: NonNullable<BuildOptions['entryPoints']>,
  format: 'cjs' | 'esm',
  more: BuildOptions,
): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format,
    metafile: true,
    legalComments: 'none',
    // A single non-Latin-1 character in a comment would make V8 keep the source at two bytes per character.
    minifyWhitespace: true,
    logLevel: 'error',
    ...(format === 'esm'
      ? {
          banner: {
            js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
          },
        }
      : {}),
    ...more,
  })
  const inputs = Object.keys(metafile?.inputs ?? {})
  const foreign = inputs.filter(path => /^(sandbox|test|scripts)\//.test(path))
  if (foreign.length > 0)
    throw new Error(`${Object.values(entryPoints)}: production bundles must not contain ${foreign.join(', ')}`)
  return packagesIn(inputs)
}

function packagesIn(inputs: string[]): string[] {
  const names = inputs.flatMap(path => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
    return name ? [name] : []
  })
  return [...new Set(names)].sort()
}

/** By the name of the list of packages: how to build it, and its file in dist/. */
const bundles = {
  agent: [buildAgent, 'agent.cjs'],
  multinic: [buildProgram, 'multinic.mjs'],
  cli: [buildCli, 'multinic'],
} as const

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, [make, file]] of Object.entries(bundles)) {
    const packages = await make(join(root, 'dist', file))
    mkdirSync(join(root, 'deployments/images'), { recursive: true })
    writeFileSync(join(root, `deployments/images/${name}.deps.txt`), packages.map(each => `${each}\n`).join(''))
    console.log(`${name}: ${packages.length} packages`)
  }
  const files = await buildWeb(join(root, 'dist/web'))
  console.log(`dashboard: ${files.length} files`)
}
