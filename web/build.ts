/**
 * Bundles the dashboard: one page, one script with chunks that it loads on demand, one style sheet. Names contain a content hash,
 * and every file has compressed copies.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'esbuild'

const here = import.meta.dirname

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><rect x="1" y="1" width="22" height="22" rx="6.5" fill="#2f5bea"/><g fill="none" stroke="#fff" stroke-width="2" stroke-linecap="round"><path d="M6.5 17V9.2a1.7 1.7 0 0 1 3-1.1l5 6a1.7 1.7 0 0 0 3-1.1V7"/></g><circle cx="6.5" cy="17.2" r="1.7" fill="#fff"/><circle cx="17.5" cy="6.8" r="1.7" fill="#fff"/></svg>\n`

/** Replaces `outdir` with the dashboard and returns the names of its files. */
export async function buildWeb(outdir: string): Promise<string[]> {
  const { outputFiles } = await build({
    absWorkingDir: here,
    entryPoints: { script: 'main.tsx', style: 'styles/all.css' },
    entryNames: 'assets/[name]-[hash]',
    chunkNames: 'assets/[name]-[hash]',
    outdir,
    write: false,
    bundle: true,
    splitting: true,
    minify: true,
    format: 'esm',
    target: ['chrome123', 'firefox121', 'safari17.5'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    logLevel: 'error',
  })
  const iconHash = createHash('sha256').update(icon).digest('hex').slice(0, 10)
  const files = new Map([
    [`assets/icon-${iconHash}.svg`, icon],
    ...outputFiles.map(({ path, text }) => [relative(outdir, path), text] as const),
  ])
  let page = (await readFile(join(here, 'index.html'), 'utf8')).replace(/\n\s*/g, '\n')
  for (const path of files.keys())
    page = page.replace(`%${path.slice('assets/'.length, path.lastIndexOf('-'))}%`, `/${path}`)
  files.set('index.html', page)

  await rm(outdir, { recursive: true, force: true })
  await mkdir(join(outdir, 'assets'), { recursive: true })
  for (const [path, text] of files) {
    const options = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } }
    await writeFile(join(outdir, path), text)
    await writeFile(join(outdir, `${path}.gz`), gzipSync(text, { level: 9 }))
    await writeFile(join(outdir, `${path}.br`), brotliCompressSync(text, options))
  }
  return [...files.keys()]
}

/** Returns the directory of a dashboard built from the current sources. Builds it only if a source changed. */
export async function cachedWeb(): Promise<string> {
  const hash = createHash('sha256')
  const patterns = ['**/*.{ts,tsx,css,html}', '../src/contract/**/*.ts']
  for (const path of globSync(patterns, { cwd: here }).sort())
    if (!/\.(test|fixture)\.ts$/.test(path)) hash.update(`${path}\n`).update(readFileSync(join(here, path)))
  const dir = join(here, '../node_modules/.cache/dashboard', hash.digest('hex').slice(0, 16))
  if (existsSync(dir)) return dir
  // Built in a temporary directory, because other processes may start at the same time.
  await mkdir(dirname(dir), { recursive: true })
  const temporary = await mkdtemp(`${dir}.`)
  await buildWeb(temporary)
  await rename(temporary, dir).catch(async error => {
    await rm(temporary, { recursive: true })
    if (!existsSync(dir)) throw error
  })
  return dir
}
