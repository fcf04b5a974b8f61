import assert from 'node:assert/strict'
import { test } from 'node:test'
import { paragraph } from './tour.ts'

test('experience Low: texts are wrapped at the width of the terminal, and no word is broken', () => {
  const text = 'You attach a port to an OpenStack VM that is a Kubernetes node.'
  assert.equal(paragraph(`▸ ${text}`, 30), '▸ You attach a port to an\n  OpenStack VM that is a\n  Kubernetes node.')
})
