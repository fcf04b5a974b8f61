/**
 * The test files by what they need: nothing, root and namespaces, or real servers.
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

/** `only` selects the files that have it in their path. */
export function testFiles(only = ''): TestFiles {
  const all = globSync('{src,sandbox,web,test,scripts}/**/*.test.ts', { cwd: root }).sort()
  const selected = all.filter(file => file.includes(only))
  const e2e = selected.filter(file => file.endsWith('.e2e.test.ts'))
  const asRoot = selected.filter(file => file.endsWith('.root.test.ts'))
  return { plain: selected.filter(file => !e2e.includes(file) && !asRoot.includes(file)), root: asRoot, e2e }
}
