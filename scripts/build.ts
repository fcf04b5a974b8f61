/**
 * Bundles the parts for production: the agent as one file without dependencies, the whole program as another, the dashboard
 * as files beside it.
 *
 * Next to each bundle goes the list of packages inside it (deployments/images/<part>.deps.txt): a new dependency shows up in review.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Metafile } from 'esbuild'
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

async function bundle(entry: string, outfile: string, format: 'cjs' | 'esm'): Promise<string[]> {
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
    external: ['esbuild', '../../scripts/*', '../../web/*'],
    logLevel: 'error',
    ...(format === 'esm'
      ? {
          banner: {
            js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);",
          },
        }
      : {}),
  })
  return packagesIn(metafile)
}

function packagesIn(metafile: Metafile): string[] {
  const names = Object.keys(metafile.inputs).flatMap(path => {
    const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
    return name ? [name] : []
  })
  return [...new Set(names)].sort()
}

export const parts = { agent: buildAgent, multinic: buildProgram } as const

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [part, make] of Object.entries(parts)) {
    const packages = await make(join(root, 'dist', part === 'agent' ? 'agent.cjs' : 'multinic.mjs'))
    mkdirSync(join(root, 'deployments/images'), { recursive: true })
    writeFileSync(join(root, `deployments/images/${part}.deps.txt`), packages.map(name => `${name}\n`).join(''))
    console.log(`${part}: ${packages.length} packages`)
  }
  const files = await buildWeb(join(root, 'dist/web'))
  console.log(`dashboard: ${files.length} files`)
}
