/**
 * Which test files there are, by what they need: nothing, root and namespaces, or real servers.
 */
import { globSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(import.meta.dirname, '..')

export interface TestFiles {
  plain: string[]
  /** *.root.test.ts */
  root: string[]
  /** *.e2e.test.ts */
  e2e: string[]
}

/** With `only`, those with that word in their path. */
export function testFiles(only = ''): TestFiles {
  const all = globSync('{src,sandbox,web,test,scripts}/**/*.test.ts', { cwd: root }).sort()
  const chosen = all.filter(file => file.includes(only))
  const e2e = chosen.filter(file => file.endsWith('.e2e.test.ts'))
  const asRoot = chosen.filter(file => file.endsWith('.root.test.ts'))
  return { plain: chosen.filter(file => !e2e.includes(file) && !asRoot.includes(file)), root: asRoot, e2e }
}
