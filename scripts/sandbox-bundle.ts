/**
 * Bundles the sandbox with code splitting, so that each command loads only its own code. The entry point is main.mjs.
 */
import { join } from 'node:path'
import { build } from 'esbuild'

export async function buildSandbox(outdir: string): Promise<void> {
  await build({
    absWorkingDir: join(import.meta.dirname, '..'),
    entryPoints: { main: 'sandbox/entry.ts' },
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    splitting: true,
    platform: 'node',
    target: 'node24',
    format: 'esm',
    legalComments: 'none',
    minifyWhitespace: true,
    external: ['esbuild', '../../scripts/*', '../../web/*'],
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
    logLevel: 'error',
  })
}
