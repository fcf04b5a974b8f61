/** No import circle in any folder, type imports included. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { circlesIn, importsOf, sources } from './sources.ts'

test('no files import each other in a circle', () => {
  const circles = circlesIn(sources('{src,sandbox,web,test,scripts}/**/*.{ts,tsx}'))
  assert.deepEqual(
    circles.map(circle => circle.join(' → ')),
    [],
  )
})

test('the check finds a planted circle', () => {
  const planted = Object.entries({
    'src/x/a.ts': "import { b } from './b.ts'\nimport { helper } from '../y/helper.ts'",
    'src/x/b.ts': "import type { C } from '../y/c.ts'",
    'src/y/c.ts': "export * from '../x/a.ts'",
    'src/y/helper.ts': "import { join } from 'node:path'",
    // A later import() closes no circle.
    'src/y/lazy.ts': "import { d } from './d.ts'",
    'src/y/d.ts': "export const d = () => import('./lazy.ts')",
  }).map(([path, text]) => ({ path, imports: importsOf(path, text) }))
  assert.deepEqual(circlesIn(planted), [['src/x/a.ts', 'src/x/b.ts', 'src/y/c.ts']])
})
