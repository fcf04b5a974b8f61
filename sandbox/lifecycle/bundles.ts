/**
 * The program, the agent and the dashboard as they are shipped, made from this very checkout: bundles start in a third of the
 * time and take half of the memory of their sources. They are made when a source has changed, and kept.
 */
import { createHash } from 'node:crypto'
import { existsSync, globSync, statSync } from 'node:fs'
import { chmod, mkdtemp, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { bundlePrefix, checkout, ownBundle } from '../checkout.ts'

export interface Built {
  /** Our parts and the sandbox itself. */
  program: string
  agent: string
  /** Of the dashboard. */
  webDir: string
}

const directory = (key: string) => join(checkout, 'node_modules', `${bundlePrefix}${key}`)

const sources = [
  ...['src/**/*.ts', 'sandbox/**/*.ts', 'web/**/*.{ts,tsx,css,html}'],
  ...[
    'scripts/build.ts',
    'scripts/code-cache.ts',
    'scripts/sandbox-bundle.ts',
    'scripts/warm-up.ts',
    'package-lock.json',
  ],
]

/** How long one that nobody started lately is kept: what runs may still load of it. */
const keptMs = 7 * 24 * 3_600_000

export async function builtParts(say: (line: string) => void = () => {}): Promise<Built> {
  if (ownBundle) return partsIn(ownBundle)
  const dir = directory(keyOfSources())
  if (existsSync(dir)) {
    const now = new Date()
    // A checkout of somebody else: they keep it.
    await utimes(dir, now, now).catch(() => {})
    return partsIn(dir)
  }
  say('building the program, the agent and the dashboard from these sources (once for each change)')
  await build(dir)
  await forgetOld(dir)
  return partsIn(dir)
}

function partsIn(dir: string): Built {
  return { program: join(dir, 'main.mjs'), agent: join(dir, 'agent.cjs'), webDir: join(dir, 'web') }
}

/** By when they were changed and how long they are: to read them all would take a tenth of the start. */
function keyOfSources(): string {
  const hash = createHash('sha256').update(process.version)
  const paths = sources.flatMap(pattern => globSync(pattern, { cwd: checkout }))
  for (const path of paths.filter(each => !each.endsWith('.test.ts')).sort()) {
    const { mtimeMs, size } = statSync(join(checkout, path))
    hash.update(`${path} ${mtimeMs} ${size}\n`)
  }
  return hash.digest('hex').slice(0, 16)
}

/** Aside: whoever starts at the same time sees a whole one or none. */
async function build(dir: string): Promise<void> {
  const { buildAgent } = await import('../../scripts/build.ts')
  const { buildPieces } = await import('../../scripts/sandbox-bundle.ts')
  const { buildWeb } = await import('../../web/build.ts')
  const aside = await mkdtemp(`${dir}.`)
  try {
    const made = partsIn(aside)
    await Promise.all([buildPieces(aside), buildAgent(made.agent), buildWeb(made.webDir)])
    await chmod(aside, 0o755)
    await rename(aside, dir)
  } catch (error) {
    await rm(aside, { recursive: true, force: true })
    if (!existsSync(dir)) throw error
  }
}

async function forgetOld(current: string): Promise<void> {
  const all = dirname(current)
  for (const name of await readdir(all)) {
    const path = join(all, name)
    if (!name.startsWith(bundlePrefix) || path === current) continue
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }))
    if (Date.now() - mtimeMs > keptMs) await rm(path, { recursive: true, force: true })
  }
}
