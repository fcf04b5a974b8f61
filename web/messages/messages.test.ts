import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { languages, type MessageKey, translator } from './messages.ts'

const { en, ko } = languages
const keys = Object.keys(en) as MessageKey[]
const placeholdersIn = (text: string) =>
  [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name = '']) => name))].sort()

test('both languages have every message, with the same placeholders', () => {
  assert.deepEqual(Object.keys(ko).sort(), keys.toSorted())
  for (const key of keys) {
    assert.notEqual(ko[key].trim(), '', key)
    assert.deepEqual(placeholdersIn(ko[key]), placeholdersIn(en[key]), key)
  }
})

test('every message is used', () => {
  const web = join(import.meta.dirname, '..')
  const text = globSync('**/*.{ts,tsx}', { cwd: web })
    .filter(path => !path.endsWith('.test.ts') && !path.startsWith('messages/'))
    .map(path => readFileSync(join(web, path), 'utf8'))
    .join('\n')
  const unused = keys.filter(key => {
    const [group = ''] = key.split('.')
    return !text.includes(`'${key}'`) && !text.includes(`\`${group}.\${`)
  })
  assert.deepEqual(unused, [])
})

test('a number selects the singular or the plural form', () => {
  assert.equal(translator('en')('count.nodes', { n: 1 }), '1 node')
  assert.equal(translator('en')('count.nodes', { n: '1,000' }), '1,000 nodes')
  assert.equal(translator('ko')('count.nodes', { n: 2 }), '노드 2개')
})
