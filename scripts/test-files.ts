/**
 * The test files by what they need: nothing, root and namespaces, real servers, or virtual machines.
 */
import { globSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const root = join(import.meta.dirname, '..')

export interface TestFiles {
  plain: string[]
  /** *.root.test.ts */
  root: string[]
  /** *.e2e.test.ts */
  e2e: string[]
  /** *.vm.test.ts */
  vm: string[]
}

/** Whether a file runs in its own namespaces. */
export function isIsolated(file: string): boolean {
  return /\.(root|e2e|vm)\.test\.ts$/.test(file)
}

/** `only` selects the files that have it in their path. */
export function testFiles(only = ''): TestFiles {
  const all = globSync('{src,sandbox,web,test,scripts}/**/*.test.ts', { cwd: root }).sort()
  const selected = all.filter(file => file.includes(only))
  const endingIn = (kind: string) => selected.filter(file => file.endsWith(`.${kind}.test.ts`))
  const special = { root: endingIn('root'), e2e: endingIn('e2e'), vm: endingIn('vm') }
  const names = new Set(Object.values(special).flat())
  return { plain: selected.filter(file => !names.has(file)), ...special }
}

/** The files with these words first, so that the last file does not run alone. Of the others, those in test/ are slower than src. */
export function slowFirst(files: readonly string[], words: readonly string[]): string[] {
  const slow = words.flatMap(word => files.filter(file => file.includes(word)))
  return [...new Set([...slow, ...[...files].sort().reverse()])]
}

/** The file and all files that it imports, also through others that are followed. */
export function filesLoadedBy(
  file: string,
  read: (file: string) => string,
  isFollowed: (file: string) => boolean = () => true,
): string[] {
  const loaded = new Set([file])
  for (const one of loaded) if (isFollowed(one)) for (const other of importsOf(one, read)) loaded.add(other)
  return [...loaded]
}

function importsOf(file: string, read: (file: string) => string): string[] {
  const statements = read(file).matchAll(/^(?:import|export) (?!type )[^;]*? from '(\.[^']+\.ts)'/gms)
  return [...statements].map(([, from = '']) => join(dirname(file), from))
}
