/**
 * Bundles the program in pieces, for the sandbox: each command loads its own and no more. Its entry is main.mjs.
 */
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'

export async function buildPieces(outdir: string): Promise<void> {
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

/** Its index loads all of it at once. Its clients are what we use: fetch, WebSockets, mocks and caches would be 7 MiB a process. */
const clientsOfUndici: Plugin = {
  name: 'clients-of-undici',
  setup(making) {
    making.onResolve({ filter: /^\.\/lib\/(web|mock|cache|interceptor)\// }, ({ importer }) =>
      importer.endsWith('/undici/index.js') ? { path: 'nothing', namespace: 'left-out' } : undefined,
    )
    const anything = 'module.exports = new Proxy(class {}, { get: of => of })'
    making.onLoad({ filter: /.*/, namespace: 'left-out' }, () => ({ contents: anything }))
  },
}
