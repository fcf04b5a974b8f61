import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, hashFor } from '../controller.fixture.ts'
import { carryOver, requestedOf } from './requested.ts'

test('a spec is parsed once per object', () => {
  const config = aConfig()
  assert.equal(requestedOf(config), requestedOf(config))
  assert.equal(requestedOf(config).specHash, hashFor(config))
})

test('a new version of an object with the same spec is not parsed again', () => {
  const [before, after] = [aConfig(), aConfig({ metadata: { resourceVersion: '11' } })]
  const known = requestedOf(before)
  carryOver(before, after)
  assert.equal(requestedOf(after), known)
})

test('a new spec, or another machine, is parsed again', () => {
  const before = aConfig()
  const known = requestedOf(before)
  for (const after of [aConfig({ generation: 4, nics: 1 }), aConfig({ instanceId: 'another' })]) {
    carryOver(before, after)
    assert.notEqual(requestedOf(after), known)
    assert.equal(requestedOf(after).specHash, hashFor(after))
  }
})

test('an object that was never parsed has nothing to carry over', () => {
  const after = aConfig({ nics: 1 })
  carryOver(aConfig({ nics: 1 }), after)
  assert.equal(requestedOf(after).interfaces.length, 1)
})

test('the hash of a config without a machine covers the rest', () => {
  const config = aConfig({ instanceId: '' })
  assert.notEqual(requestedOf(config).specHash, hashFor(aConfig()))
  assert.deepEqual(requestedOf(config).errors, [])
})
