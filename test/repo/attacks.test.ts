/** The published attacks name tests that exist, and are at least as many as the page promises. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testFiles } from '../../scripts/test-files.ts'
import { attackSections } from '../attacks/published/attacks.ts'
import { proofExists } from './proofs.ts'

const attacks = attackSections.flatMap(section => section.attacks)

test('every published attack names a test that exists', () => {
  assert.ok(attacks.length >= 60, `${attacks.length} attacks`)
  assert.deepEqual(
    attacks.filter(({ file, test: name }) => !proofExists({ file, name })),
    [],
  )
})

test('the command of every published attack runs a file', () => {
  const files = Object.values(testFiles()).flat()
  assert.deepEqual(
    attacks.map(({ file, runBy = file }) => runBy).filter(file => !files.includes(file)),
    [],
  )
})

test('no attack is published twice, and the failures are among them', () => {
  const names = attacks.map(({ about }) => about.en)
  assert.equal(new Set(names).size, names.length)
  assert.ok(attacks.filter(({ failed }) => failed).length >= 20)
})

test('the check finds a test that does not exist', () => {
  assert.equal(proofExists({ file: 'test/repo/attacks.test.ts', name: 'no such test' }), false)
})
