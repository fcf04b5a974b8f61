/**
 * The source tree as the repository tests see it: files, their imports, and import circles.
 */
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

export interface Source {
  path: string
  text: string
  imports: Import[]
}

export interface Import {
  /** A path from the root for a relative import, otherwise the name of the package. */
  of: string
  /** A type import: it does not exist at run time. */
  types: boolean
  /** An `import()` expression: it runs later, so it closes no circle. */
  dynamic: boolean
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

export function importsOf(path: string, text: string): Import[] {
  const statics = [...text.matchAll(/^(?:import|export)\s+(type\s+)?[^'";]*?from\s+'([^']+)'/gm)]
  const bare = [...text.matchAll(/^import\s+'([^']+)'/gm)]
  const expressions = [...text.matchAll(/\bimport\('([^']+)'\)/g)]
  return [
    ...statics.map(([, types, of = '']) => ({ of, types: types !== undefined, dynamic: false })),
    ...bare.map(([, of = '']) => ({ of, types: false, dynamic: false })),
    ...expressions.map(([, of = '']) => ({ of, types: false, dynamic: true })),
  ].map(found => ({ ...found, of: found.of.startsWith('.') ? normalize(join(dirname(path), found.of)) : found.of }))
}

/** Files that import each other, directly or through others: the strongly connected components (Tarjan). */
export function circlesIn(files: readonly Pick<Source, 'path' | 'imports'>[]): string[][] {
  const imports = new Map(files.map(file => [file.path, file.imports.filter(({ dynamic }) => !dynamic)]))
  const order = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []

  /** Returns the lowest order number that is reachable from the file and still open. */
  function visit(path: string): number {
    const own = order.size
    order.set(path, own)
    open.push(path)
    let lowest = own
    for (const { of } of imports.get(path) ?? []) {
      if (!imports.has(of)) continue
      if (!order.has(of)) lowest = Math.min(lowest, visit(of))
      else if (open.includes(of)) lowest = Math.min(lowest, order.get(of) ?? own)
    }
    if (lowest === own) {
      const circle = open.splice(open.indexOf(path))
      if (circle.length > 1 || imports.get(path)?.some(({ of }) => of === path)) circles.push(circle)
    }
    return lowest
  }

  for (const { path } of files) if (!order.has(path)) visit(path)
  return circles
}
