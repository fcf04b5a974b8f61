/**
 * Bundles a program into one file, like the images do: it starts ten times faster than from source.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

const bundles = new Map<string, Promise<string>>()

/** Returns the path of the bundle, which exists until this process ends. `source` is a path in the repository. */
export function bundled(source: string): Promise<string> {
  const known = bundles.get(source) ?? bundle(source)
  bundles.set(source, known)
  return known
}

async function bundle(source: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), 'multinic-bundle-'))
  process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
  const outfile = join(directory, 'program.cjs')
  await build({
    entryPoints: [fileURLToPath(new URL(`../../../${source}`, import.meta.url))],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    logLevel: 'error',
  })
  return outfile
}
