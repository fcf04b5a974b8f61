/** House rules of the dashboard: what it may import, and that every file says what it is for. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isTest, sources } from '../test/repo/sources.ts'

const all = sources('web/**/*.{ts,tsx}').filter(({ path }) => !isTest(path) && path !== 'web/build.ts')

test('the dashboard imports types of the contract, the catalogue of reasons, Preact, and nothing else', () => {
  const foreign = all.flatMap(({ path, imports }) =>
    imports
      .filter(({ of, types }) => !(of.startsWith('src/contract/') && (types || of.startsWith('src/contract/reasons/'))))
      .filter(({ of }) => !of.startsWith('web/') && !/^preact(\/hooks)?$/.test(of))
      .map(({ of }) => `${path} imports ${of}`),
  )
  assert.deepEqual(foreign, [])
})

test('every file says what it is for, and can be read in one go', () => {
  const silent = all.filter(({ text }) => !/^\/\*\*[\s\S]{5,}?\*\//.test(text)).map(({ path }) => path)
  assert.deepEqual(silent, [])
  const long = [...all, ...sources('web/styles/*.css')].filter(({ text }) => text.split('\n').length > 401)
  assert.deepEqual(
    long.map(({ path }) => path),
    [],
  )
})

test('nothing is styled by attribute in the page, which the policy would refuse', () => {
  const marked = all.filter(({ text }) => /\sstyle="|setAttribute\('style'|dangerouslySetInnerHTML/.test(text))
  assert.deepEqual(
    marked.map(({ path }) => path),
    [],
  )
})
