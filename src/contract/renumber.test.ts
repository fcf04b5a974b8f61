import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as z from 'zod'
import { interfaceName, maxMoves, parseRenumberRequest, renumberRequestId } from './renumber.ts'

const move = { nodeName: 'worker-1', portId: 'port-1', to: 'multinic3' }
const request = { requestedAt: '2026-01-01T00:00:00Z', moves: [move] }
const moves = (count: number) => Array.from({ length: count }, () => move)

const accepted: Record<string, unknown> = {
  'one move': request,
  'every number': { ...request, moves: [...'0123456789'].map(digit => ({ ...move, to: `multinic${digit}` })) },
  'the longest time, node and port': {
    requestedAt: 'x'.repeat(64),
    moves: [{ ...move, nodeName: 'n'.repeat(253), portId: 'p'.repeat(253) }],
  },
  'as many moves as fit': { ...request, moves: moves(maxMoves) },
}

for (const [name, given] of Object.entries(accepted))
  test(`a request with ${name} is read as it is`, () =>
    assert.deepEqual(parseRenumberRequest(JSON.stringify(given)), given))

const refused: Record<string, unknown> = {
  'no moves': { ...request, moves: [] },
  'too many moves': { ...request, moves: moves(maxMoves + 1) },
  'no time': { moves: [move] },
  'a time that is too long': { ...request, requestedAt: 'x'.repeat(65) },
  'no node': { ...request, moves: [{ ...move, nodeName: '' }] },
  'a node that is too long': { ...request, moves: [{ ...move, nodeName: 'n'.repeat(254) }] },
  'no port': { ...request, moves: [{ ...move, portId: '' }] },
  'a number above nine': { ...request, moves: [{ ...move, to: 'multinic10' }] },
  'a letter for a number': { ...request, moves: [{ ...move, to: 'multinicx' }] },
  'a name that ends as ours': { ...request, moves: [{ ...move, to: 'xmultinic1' }] },
}

for (const [name, given] of Object.entries(refused))
  test(`a request with ${name} is none`, () => assert.equal(parseRenumberRequest(JSON.stringify(given)), undefined))

test('an annotation that is not JSON is no request', () => {
  for (const text of ['', 'now', '{"moves":', 'null']) assert.equal(parseRenumberRequest(text), undefined, text)
})

/** It is also part of the status, and the API server checks only this. */
test('the API server knows length and pattern of the name of an interface', () => {
  const { maxLength, pattern } = z.toJSONSchema(interfaceName)
  assert.deepEqual([maxLength, pattern], [9, '^multinic[0-9]$'])
})

/** The status of an earlier operator names its request by this ID. */
test('the same annotation is the same request, in every version', () => {
  assert.equal(renumberRequestId('{"requestedAt":"monday","moves":[]}'), '8d0c14ca419d8af2')
  assert.notEqual(renumberRequestId('{"requestedAt":"tuesday","moves":[]}'), '8d0c14ca419d8af2')
})
