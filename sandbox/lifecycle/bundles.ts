/**
 * Bundles of the program, the agent and the dashboard, built from this checkout as for production. A bundle starts in a third
 * of the time and needs half of the memory of its sources. Rebuilt when a source has changed.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, statSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { bundlePrefix, checkout, ownBundle } from '../checkout.ts'

export interface Bundles {
  /** The components and the sandbox itself. */
  program: string
  agent: string
  /** Files of the dashboard. */
  webDir: string
}

const directory = (key: string) => join(checkout, 'node_modules', `${bundlePrefix}${key}`)

const sources = [
  ...['src/**/*.ts', 'sandbox/**/*.ts', 'web/**/*.{ts,tsx,css,html}'],
  ...['scripts/build.ts', 'scripts/sandbox-bundle.ts', 'package-lock.json'],
]

/** Unused bundles are removed after this time: a running process may still load files of them. */
const unusedRetentionMs = 7 * 24 * 3_600_000

export async function ensureBundles(print: (line: string) => void = () => {}): Promise<Bundles> {
  if (ownBundle) return bundlesIn(ownBundle)
  const dir = directory(sourcesKey())
  if (existsSync(dir)) {
    const now = new Date()
    // Fails in a checkout of another user, who keeps the time up to date.
    await utimes(dir, now, now).catch(() => {})
    return bundlesIn(dir)
  }
  print('building the program, the agent and the dashboard (once after each source change)')
  await build(dir)
  await removeUnused(dir)
  return bundlesIn(dir)
}

function bundlesIn(dir: string): Bundles {
  return { program: join(dir, 'main.mjs'), agent: join(dir, 'agent.cjs'), webDir: join(dir, 'web') }
}

/** Uses modification times and sizes: reading all files would take a tenth of the start time. */
function sourcesKey(): string {
  const hash = createHash('sha256').update(process.version)
  const paths = sources.flatMap(pattern => globSync(pattern, { cwd: checkout }))
  for (const path of paths.filter(each => !each.endsWith('.test.ts')).sort()) {
    const { mtimeMs, size } = statSync(join(checkout, path))
    hash.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

async function build(dir: string): Promise<void> {
  const { buildAgent } = await import('../../scripts/build.ts')
  const { buildSandbox } = await import('../../scripts/sandbox-bundle.ts')
  const { buildWeb } = await import('../../web/build.ts')
  await buildBeside(dir, aside => {
    const { agent, webDir } = bundlesIn(aside)
    return [buildSandbox(aside), buildAgent(agent), buildWeb(webDir)]
  })
}

/** Builds beside the target and renames: a concurrent start sees a complete bundle or none. */
export async function buildBeside(dir: string, start: (aside: string) => Promise<unknown>[]): Promise<void> {
  const aside = await mkdtemp(`${dir}.`)
  const builds = start(aside)
  try {
    await Promise.all(builds)
    await chmod(aside, 0o755)
    await rename(aside, dir)
  } catch (error) {
    // The other builds still write. What cannot be removed is not the error: `removeUnused` removes it later.
    await Promise.allSettled(builds)
    await rm(aside, { recursive: true, force: true }).catch(() => {})
    if (!existsSync(dir)) throw error
  }
}

async function removeUnused(current: string): Promise<void> {
  const all = dirname(current)
  for (const name of await readdir(all)) {
    const path = join(all, name)
    if (!name.startsWith(bundlePrefix) || path === current) continue
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > unusedRetentionMs) await rm(path, { recursive: true, force: true })
  }
}
