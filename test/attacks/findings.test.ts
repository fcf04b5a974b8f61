/**
 * Every finding of the review of the agent has a test that names its number: here, or where its subject is tested.
 */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../scripts/test-files.ts'

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
const findings = [...numbers('F', 21), ...numbers('L', 8)]

test('every finding has a test', () => {
  const sources = globSync('*.{root,e2e}.test.ts', { cwd: import.meta.dirname }).map(file =>
    readFileSync(join(import.meta.dirname, file), 'utf8'),
  )
  const here = new Set(
    sources.flatMap(text => text.match(/'[FL]\d[FL\d, ]*'/g) ?? []).flatMap(list => list.match(/\w+/g)),
  )
  const missing = findings.filter(finding => {
    const [file, text] = elsewhere[finding] ?? []
    return !here.has(finding) && !(file && text && readFileSync(join(root, file), 'utf8').includes(text))
  })
  assert.deepEqual(missing, [])
})
