import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providerChoices, providerText, providerTitle } from '../ui/format.ts'
import { nodeMatches, nodeOf } from './nodes.ts'
import { providerNamesOf, providerOf, providersOf } from './providers.ts'
import { aRecord } from './record.fixture.ts'

function aNode(providerId: string, providerName = '', updatedAt = '2026-01-01T00:00:00Z') {
  const record = aRecord(`${providerId} ${updatedAt}`, { 0: { address: '10.0.0.5', status: 'Configured' } })
  return nodeOf({ ...record, providerId, updatedAt, ...(providerName && { providerName }) }, [])
}

test('a provider has the name of its node that changed last', () => {
  const nodes = [
    aNode('p-1', 'Seoul 2', '2026-01-03T00:00:00Z'),
    aNode('p-1', 'Seoul 1', '2026-01-02T00:00:00Z'),
    aNode('p-2', 'Busan', '2026-01-02T00:00:00Z'),
    aNode('p-2', '', '2026-01-03T00:00:00Z'),
  ]
  assert.equal(providerOf(nodes, 'p-1').providerName, 'Seoul 2')
  assert.deepEqual(
    providerNamesOf(nodes).map(({ providerId, providerName }) => [providerId, providerName]),
    [
      ['p-2', ''],
      ['p-1', 'Seoul 2'],
    ],
  )
})

test('providers are in the order of what is shown', () => {
  const nodes = [aNode('p-1', 'Seoul 10'), aNode('p-2', 'Seoul 9'), aNode('a-3')]
  assert.deepEqual(providerNamesOf(nodes).map(providerTitle), ['a-3', 'Seoul 9 (p-2)', 'Seoul 10 (p-1)'])
  assert.deepEqual(
    providersOf(nodes).map(({ providerId }) => providerId),
    ['a-3', 'p-2', 'p-1'],
  )
})

test('a provider is shown by its name, or by its ID if it has none', () => {
  const providerId = '0a1b2c3d-0a1b-0a1b-0a1b-0a1b2c3d4e5f'
  assert.equal(providerText({ providerId, providerName: 'Seoul 1' }), 'Seoul 1')
  assert.equal(providerText({ providerId, providerName: 'x'.repeat(100) }).length, 32)
  assert.equal(providerText({ providerId, providerName: '' }, 8), '0a1b2c3d…4e5f')
  assert.equal(providerTitle({ providerId, providerName: '' }), providerId)
})

test('choices with the same name also have the ID', () => {
  const choices = providerChoices(
    providerNamesOf([aNode('p-1', 'Seoul'), aNode('p-2', 'Seoul'), aNode('p-3', 'Busan')]),
  )
  assert.deepEqual(
    choices.map(({ label }) => label),
    ['Busan', 'Seoul (p-1)', 'Seoul (p-2)'],
  )
})

test('a node is found by the name of its provider', () => {
  assert.ok(nodeMatches(aNode('p-1', 'Seoul 1'), 'seoul'))
  assert.equal(nodeMatches(aNode('p-1', 'Seoul 1'), 'busan'), false)
})
