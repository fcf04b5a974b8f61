/**
 * Every finding of the reviews has a test that names its number: here, or where its subject is tested.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root, testFiles } from '../../scripts/test-files.ts'

/** Text in a file outside of this directory. */
const elsewhere: Record<string, [file: string, text: string]> = {
  F8: ['src/agent/boot-order.e2e.test.ts', "'F8: "],
  F18: ['src/agent/take-over.e2e.test.ts', "'F18: "],
  L6: ['src/agent/report.test.ts', "'L6: "],
  L7: ['src/controller/job.test.ts', "'L7: "],
  // A fixed wait on nodes with NetworkManager.
  L8: ['test/bench/agent.ts', 'agent.nm_one_wall_s'],
}

const numbers = (letter: string, count: number) => Array.from({ length: count }, (_, index) => `${letter}${index + 1}`)
const ofAgent = [...numbers('F', 21), ...numbers('L', 8)]

test('every finding of the agent has a test', () => {
  const sources = globSync('*.{root,e2e}.test.ts', { cwd: import.meta.dirname }).map(file =>
    readFileSync(join(import.meta.dirname, file), 'utf8'),
  )
  const here = new Set(
    sources.flatMap(text => text.match(/'[FL]\d[FL\d, ]*'/g) ?? []).flatMap(list => list.match(/\w+/g)),
  )
  const missing = ofAgent.filter(finding => {
    const [file, text] = elsewhere[finding] ?? []
    return !here.has(finding) && !(file && text && readFileSync(join(root, file), 'utf8').includes(text))
  })
  assert.deepEqual(missing, [])
})

/** Numbers of the findings of the other reviews. */
const ofOthers = {
  operator: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, '15a', '15b', '15c', '15d', '15e', '15f', '15g'],
  controller: ['H2', 'H3', 'M4', 'M5', 'M6', 'M7', 'M8', 'M9', 'M10', 'L11', 'L12', 'L13'],
  experience: [...numbers('H', 6), ...numbers('M', 14)],
}

for (const [review, numbers] of Object.entries(ofOthers))
  test(`every finding of the ${review} has a test`, () => {
    const titles = new RegExp(`['\`]${review} ([\\w, ]+): `, 'g')
    const named = Object.values(testFiles())
      .flat()
      .flatMap(file => [...readFileSync(join(root, file), 'utf8').matchAll(titles)])
      .flatMap(([, list = '']) => list.split(', '))
    assert.deepEqual(
      numbers.filter(number => !named.includes(String(number))),
      [],
    )
  })
