/** Rules for the sources of the dashboard: imports, headers, size, and no inline styles. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTest, sources } from '../test/repo/sources.ts'

const all = sources('web/**/*.{ts,tsx}').filter(
  ({ path }) => !isTest(path) && !path.endsWith('.fixture.ts') && path !== 'web/build.ts',
)

/** Free of dependencies, so they run in a browser. */
const runnable = [
  'src/contract/agent-rollout.ts',
  'src/contract/csv.ts',
  'src/contract/reasons/',
  'src/contract/interface-fields.ts',
  'src/contract/observation.ts',
  'src/contract/provider-name.ts',
  'src/contract/stages.ts',
  'src/contract/verdict-kind.ts',
]

test('the dashboard imports types and the dependency-free parts of the contract, Preact, and nothing else', () => {
  const foreign = all.flatMap(({ path, imports }) =>
    imports
      .filter(
        ({ of, types }) => !(of.startsWith('src/contract/') && (types || runnable.some(path => of.startsWith(path)))),
      )
      .filter(({ of }) => !of.startsWith('web/') && !/^preact(\/hooks)?$/.test(of))
      .map(({ of }) => `${path} imports ${of}`),
  )
  assert.deepEqual(foreign, [])
})

test('every file has a header comment and at most 400 lines', () => {
  const withoutHeader = all.filter(({ text }) => !/^\/\*\*[\s\S]{5,}?\*\//.test(text)).map(({ path }) => path)
  assert.deepEqual(withoutHeader, [])
  const tooLong = [...all, ...sources('web/styles/*.css')].filter(({ text }) => text.split('\n').length > 401)
  assert.deepEqual(
    tooLong.map(({ path }) => path),
    [],
  )
})

test('no file sets style attributes or raw HTML, which the content security policy refuses', () => {
  const refused = all.filter(({ text }) => /\sstyle="|setAttribute\('style'|dangerouslySetInnerHTML/.test(text))
  assert.deepEqual(
    refused.map(({ path }) => path),
    [],
  )
})
