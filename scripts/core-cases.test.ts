import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shortSeeds } from '../test/chaos/coverage.ts'
import { coreCases } from './core-cases.ts'
import { testFiles } from './test-files.ts'

const { e2e, vm } = testFiles()

test('CI runs all files against real servers but the longest, and of those only the named tests', () => {
  const { files, names } = coreCases('e2e', e2e)
  assert.deepEqual(
    e2e.filter(file => !files.includes(file)),
    ['test/packaging/node-loss.e2e.test.ts'],
  )
  assert.ok(Object.keys(names).every(file => files.includes(file)))
  assert.match(names['test/packaging/replicas.e2e.test.ts'] ?? '', /kill -9/)
})

test('on virtual machines, CI runs the named files only', () => {
  const { files, names } = coreCases('vm', vm)
  assert.ok(files.length > 0 && files.length < vm.length)
  assert.deepEqual(Object.keys(names).sort(), files.toSorted())
})

test('the seed of chaos in CI is one of the short form', () => {
  const pattern = new RegExp(coreCases('e2e', e2e).names['test/chaos/chaos.e2e.test.ts'] ?? '^$')
  assert.equal(shortSeeds.filter(seed => pattern.test(`chaos with seed ${seed}:`)).length, 1)
})
