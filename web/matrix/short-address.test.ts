import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeOf } from '../model/nodes.ts'
import { aRecord } from '../model/record.fixture.ts'
import { commonPrefix, withoutPrefix } from './short-address.ts'

test('experience M8: a shortened address shows that something is left out', () => {
  const nodesOf = (...addresses: string[]) =>
    addresses.map((address, at) => nodeOf(aRecord(`n${at}`, { 0: { address } }), []))
  const prefix = commonPrefix(nodesOf('10.20.0.42', '10.21.0.1'))
  assert.equal(withoutPrefix('10.20.0.42/24', prefix), '.20.0.42')
  assert.equal(withoutPrefix('100.20.0.42/24', prefix), '100.20.0.42')
  assert.equal(withoutPrefix('10.20.0.42/24', commonPrefix(nodesOf('10.20.0.42', '192.0.2.1'))), '10.20.0.42')
})
