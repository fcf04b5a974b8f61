/**
 * The scenarios of the project: which there are, and how one is found by its name or its file.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkout } from '../checkout.ts'
import { readScenario, type Scenario } from './scenario.ts'

const shippedDir = join(checkout, 'scenarios')

/** Names, such as `reboot`. */
export async function shippedScenarios(): Promise<string[]> {
  const files = await readdir(shippedDir).catch(() => [])
  return files
    .filter(name => name.endsWith('.yaml'))
    .map(name => name.slice(0, -'.yaml'.length))
    .sort()
}

/** A file of one's own, or the name of one that comes with the project. */
export async function findScenario(what: string): Promise<Scenario> {
  if (existsSync(what)) return readScenario(await readFile(what, 'utf8'), what)
  const shipped = await shippedScenarios()
  if (!shipped.includes(what))
    throw new Error(`there is no file ${what}, and no scenario of that name; there are ${shipped.join(', ')}`)
  return readScenario(await readFile(join(shippedDir, `${what}.yaml`), 'utf8'), `scenarios/${what}.yaml`)
}
