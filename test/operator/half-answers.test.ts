/**
 * Half true answers of Neutron, and failures of Nova, Keystone and Contrabass, among random changes. SEED is the first seed,
 * ROUNDS the number of seeds, STEPS the length of each.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { environment as variables } from '../../src/runtime/env.ts'
import { type OperatorEnvironment, startOperatorEnvironment } from './environment.ts'
import { runMixture } from './mixture.ts'

const { SEED = '7', ROUNDS = '2', STEPS = '120' } = variables()

let environment: OperatorEnvironment

before(async () => {
  environment = await startOperatorEnvironment()
})
after(() => environment.close())

for (let seed = Number(SEED); seed < Number(SEED) + Number(ROUNDS); seed++)
  test(`a half true answer removes and renumbers no interface (seed ${seed})`, async () => {
    const { violations, counts } = await runMixture(environment, seed, Number(STEPS))
    assert.deepEqual(violations, [], JSON.stringify(counts))
    assert.ok((counts['noAddresses'] ?? 0) > 0 && (counts['stale'] ?? 0) > 0, JSON.stringify(counts))
  })
