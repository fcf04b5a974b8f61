/**
 * The source tree as the house rules see it: files, and what each imports.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export interface Source {
  path: string
  text: string
  /** `types` says that the import is gone at run time. */
  imports: { of: string; types: boolean }[]
}

export function sources(pattern = 'src/**/*.ts'): Source[] {
  return globSync(pattern, { cwd: root })
    .sort()
    .map(path => {
      const text = readFileSync(join(root, path), 'utf8')
      return { path, text, imports: importsOf(path, text) }
    })
}

export function isTest(path: string): boolean {
  return /\.(test|fixture)\.ts$/.test(path)
}

function importsOf(path: string, text: string): Source['imports'] {
  const statics = [...text.matchAll(/^(?:import|export)\s+(type\s+)?[^'";]*?from\s+'([^']+)'/gm)]
  const bare = [...text.matchAll(/^import\s+'([^']+)'/gm)].map(([, of = '']) => ({ of, types: false }))
  const dynamic = [...text.matchAll(/\bimport\('([^']+)'\)/g)].map(([, of = '']) => ({ of, types: false }))
  const named = statics.map(([, types, of = '']) => ({ of, types: types !== undefined }))
  return [...named, ...bare, ...dynamic].map(({ of, types }) => ({
    of: of.startsWith('.') ? normalize(join(dirname(path), of)) : of,
    types,
  }))
}
