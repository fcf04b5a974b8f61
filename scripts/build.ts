/**
 * Bundles for production: the agent as one file without dependencies, all services as another, the CLI as a third, and
 * the dashboard.
 *
 * deployments/images/<bundle>.deps.txt lists the packages of each bundle, so that a new dependency shows up in review.
 */
import { chmodSync, globSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, parse } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BuildOptions, build } from 'esbuild'
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

/** undici refers to these functions when it loads. The CLI calls none of them. */
const missingInNode20 = [
  "require('node:zlib').createZstdDecompress ??= function () {}",
  "require('node:worker_threads').markAsUncloneable ??= function () {}",
].join(';')

/** The CLI: an executable file for Node 20 and later that works in any directory and under any name. */
export async function buildCli(outfile: string): Promise<string[]> {
  const packages = await bundle(['src/cli/entry.ts'], 'cjs', {
    outfile,
    target: 'node20.11',
    banner: { js: `#!/usr/bin/env node\n'use strict';${missingInNode20}` },
  })
  chmodSync(outfile, 0o755)
  return packages
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
