/**
 * The first version of this repository, built from the git history.
 */
import { basename, join } from 'node:path'
import { run } from '../process.ts'

export interface OlderRelease {
  chart: string
  /** Directory with the image archives. */
  images: string
  tag: string
}

export async function openOlderRelease(): Promise<OlderRelease> {
  const dir = (await run(join(import.meta.dirname, 'build.sh'), ['--check'])).stdout.trim()
  return { chart: join(dir, 'chart'), images: join(dir, 'images'), tag: basename(dir) }
}
