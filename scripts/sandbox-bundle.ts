/**
 * Bundles the sandbox with code splitting, so that each command loads only its own code. The entry point is main.mjs.
 */
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'

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
    plugins: [clientsOfUndici],
    logLevel: 'error',
  })
}

/** The index of undici loads fetch, WebSockets, mocks and caches, which costs 7 MiB per process. We use only its clients. */
const clientsOfUndici: Plugin = {
  name: 'clients-of-undici',
  setup(esbuild) {
    esbuild.onResolve({ filter: /^\.\/lib\/(web|mock|cache|interceptor)\// }, ({ importer }) =>
      importer.endsWith('/undici/index.js') ? { path: 'nothing', namespace: 'omitted' } : undefined,
    )
    const stub = 'module.exports = new Proxy(class {}, { get: of => of })'
    esbuild.onLoad({ filter: /.*/, namespace: 'omitted' }, () => ({ contents: stub }))
  },
}
