/**
 * Finds scenarios: those in scenarios/ by name, others by file.
 */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError } from '../../src/cli/io.ts'
import { checkout } from '../checkout.ts'
import { readScenario, type Scenario } from './scenario.ts'

const directory = join(checkout, 'scenarios')

/** Names of the scenarios of the project, such as `reboot`. */
export async function scenarioNames(): Promise<string[]> {
  const files = await readdir(directory).catch(() => [])
  return files
    .filter(name => name.endsWith('.yaml'))
    .map(name => name.slice(0, -'.yaml'.length))
    .sort()
}

/** Reads a scenario by its file or, for those of the project, by its name. */
export async function findScenario(fileOrName: string): Promise<Scenario> {
  if (existsSync(fileOrName)) return readScenario(await readFile(fileOrName, 'utf8'), fileOrName)
  const names = await scenarioNames()
  if (!names.includes(fileOrName))
    throw new CliError(`scenario ${fileOrName} not found: not a file, and not one of ${names.join(', ')}`)
  return readScenario(await readFile(join(directory, `${fileOrName}.yaml`), 'utf8'), `scenarios/${fileOrName}.yaml`)
}
