/**
 * The baseline, built from the git history: the oldest commit that this one upgrades from and goes back to.
 */
import { basename, join } from 'node:path'
import { run } from '../process.ts'

export interface Baseline {
  chart: string
  /** Directory with the image archives. */
  images: string
  tag: string
}

export async function openBaseline(): Promise<Baseline> {
  const dir = (await run(join(import.meta.dirname, 'build.sh'), ['--check'])).stdout.trim()
  return { chart: join(dir, 'chart'), images: join(dir, 'images'), tag: basename(dir) }
}
