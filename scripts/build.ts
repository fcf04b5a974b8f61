/**
 * Bundles the parts for production: the agent as one file without dependencies, the whole program as another, the commands
 * for people as a third, the dashboard as files beside them.
 *
 * Next to each bundle goes the list of packages inside it (deployments/images/<part>.deps.txt): a new dependency shows up in review.
 */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild'
import { buildWeb } from '../web/build.ts'
import { withCompiledCode } from './code-cache.ts'

const root = dirname(dirname(fileURLToPath(import.meta.url)))

export async function buildAgent(outfile: string): Promise<string[]> {
  const packages = await bundle('src/agent/entry.ts', outfile, 'cjs')
  withCompiledCode(outfile)
  return packages
}

export async function buildProgram(outfile: string): Promise<string[]> {
  return bundle('src/main.ts', outfile, 'esm')
}

/** The commands for people: a file that is a program, for any Node from 20 on, wherever it lies and whatever it is called. */
export async function buildCli(outfile: string): Promise<string[]> {
  const packages = await bundle('src/cli/entry.ts', outfile, 'cjs', {
    target: 'node20.11',
    banner: { js: '#!/usr/bin/env node' },
    plugins: [clientsOfUndici],
  })
  chmodSync(outfile, 0o755)
  return packages
}

/** Its index loads all of it at once, and with it what Node 20 does not have (zstd). Its clients run there. */
const clientsOfUndici: Plugin = {
  name: 'clients-of-undici',
  setup(making) {
    const clients = { Pool: 'pool', ProxyAgent: 'proxy-agent', EnvHttpProxyAgent: 'env-http-proxy-agent' }
    const lines = [
      "Object.assign(require('undici/lib/dispatcher/dispatcher.js').prototype, require('undici/lib/api/index.js'))",
      ...Object.entries(clients).map(([name, file]) => `exports.${name} = require('undici/lib/dispatcher/${file}.js')`),
    ]
    making.onResolve({ filter: /^undici$/ }, () => ({ path: 'clients', namespace: 'undici' }))
    making.onLoad({ filter: /.*/, namespace: 'undici' }, () => ({ contents: lines.join('\n'), resolveDir: root }))
  },
}

async function bundle(
  entry: string,
  outfile: string,
  format: 'cjs' | 'esm',
  more: BuildOptions = {},
): Promise<string[]> {
  mkdirSync(dirname(outfile), { recursive: true })
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format,
    metafile: true,
    legalComments: 'none',
    // One character beyond Latin-1 in a comment of a dependency would make each process hold the text at two bytes a letter.
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
  return packagesIn(metafile ?? { inputs: {}, outputs: {} })
}

function packagesIn(metafile: Metafile): string[] {
  const names = Object.keys(metafile.inputs).flatMap(path => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
    return name ? [name] : []
  })
  return [...new Set(names)].sort()
}

/** By the names of their lists; and where `make build` puts them. */
export const parts = {
  agent: [buildAgent, 'agent.cjs'],
  multinic: [buildProgram, 'multinic.mjs'],
  cli: [buildCli, 'multinic'],
} as const

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [part, [make, file]] of Object.entries(parts)) {
    const packages = await make(join(root, 'dist', file))
    mkdirSync(join(root, 'deployments/images'), { recursive: true })
    writeFileSync(join(root, `deployments/images/${part}.deps.txt`), packages.map(name => `${name}\n`).join(''))
    console.log(`${part}: ${packages.length} packages`)
  }
  const files = await buildWeb(join(root, 'dist/web'))
  console.log(`dashboard: ${files.length} files`)
}
