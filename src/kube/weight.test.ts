import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectGarbage } from '../../test/support/garbage.ts'
import { weightOf } from './weight.ts'

const count = 100_000
const parsed = (element: (n: number) => string) =>
  JSON.parse(`[${Array.from({ length: count }, (_, n) => element(n)).join()}]`) as unknown[]

for (const [what, element] of Object.entries<(n: number) => string>({
  'empty objects': () => '{}',
  'empty lists': () => '[]',
  fractions: n => String(n + 0.5),
  'short texts': n => `"text-${n}"`,
  'long texts': n => `"${n}${'x'.repeat(500)}"`,
  'objects with a text': n => `{"name":"text-${n}"}`,
  'objects with ten numbers': n => `{${Array.from({ length: 10 }, (_, key) => `"k${key}":${n}`).join()}}`,
}))
  test(`${what} weigh what they take of the heap`, () => {
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    const value = parsed(element)
    collectGarbage()
    const taken = process.memoryUsage().heapUsed - before
    assert.ok(weightOf(value) > 0.8 * taken, `${weightOf(value)} for ${taken} bytes`)
  })
