import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { languages, sayIn, type Word } from './messages.ts'

const { en, ko } = languages
const words = Object.keys(en) as Word[]
const holesIn = (text: string) => [...new Set([...text.matchAll(/\{(\w+)/g)].map(([, name = '']) => name))].sort()

test('every word is there in both languages, with the same holes', () => {
  assert.deepEqual(Object.keys(ko).sort(), words.toSorted())
  for (const word of words) {
    assert.notEqual(ko[word].trim(), '', word)
    assert.deepEqual(holesIn(ko[word]), holesIn(en[word]), word)
  }
})

test('every word is used somewhere', () => {
  const web = join(import.meta.dirname, '..')
  const text = globSync('**/*.{ts,tsx}', { cwd: web })
    .filter(path => !path.endsWith('.test.ts') && !path.startsWith('messages/'))
    .map(path => readFileSync(join(web, path), 'utf8'))
    .join('\n')
  const unused = words.filter(word => {
    const [group = '', name = ''] = word.split('.')
    return !text.includes(`'${word}'`) && !text.includes(`\`${group}.\${`) && !(name === '' && text.includes(word))
  })
  assert.deepEqual(unused, [])
})

test('one and many are said rightly', () => {
  assert.equal(sayIn('en')('many.nodes', { n: 1 }), '1 node')
  assert.equal(sayIn('en')('many.nodes', { n: '1,000' }), '1,000 nodes')
  assert.equal(sayIn('ko')('many.nodes', { n: 2 }), '노드 2개')
})
