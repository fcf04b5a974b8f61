/** Histories of chaos: repeatable, within bounds, and shortened. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promisedActs, promisedFaults, shortHistory, shortSeeds } from './coverage.ts'
import { historyOf, type Step, shorter, wordsFor } from './history.ts'

const options = {
  steps: 200,
  vms: ['worker-1', 'worker-2'],
  subnets: ['storage', 'backup'],
  words: wordsFor({ broker: true }),
}

test('a seed tells the whole history', () => {
  assert.deepEqual(historyOf(7, options), historyOf(7, options))
  assert.notDeepEqual(historyOf(7, options), historyOf(8, options))
})

test('the object never names no VM at all', () => {
  for (let seed = 0; seed < 50; seed++) {
    const away = new Set<string>()
    for (const step of historyOf(seed, options)) {
      if (step.act === 'leave') away.add(step.vm)
      if (step.act === 'join') away.delete(step.vm)
      assert.ok(away.size < options.vms.length, `seed ${seed}`)
    }
  }
})

test('only what is attached is detached, and never more than a node can have', () => {
  for (let seed = 0; seed < 50; seed++) {
    const attached = new Map<string, string>()
    for (const step of historyOf(seed, options)) {
      if (step.act === 'attach') attached.set(step.port, step.vm)
      if (step.act === 'detach') assert.ok(attached.delete(step.port), `seed ${seed}: ${step.port}`)
      for (const vm of options.vms) assert.ok([...attached.values()].filter(each => each === vm).length <= 8)
    }
  }
})

test('every kind of act and every fault has its turn', () => {
  const steps = Array.from({ length: 100 }, (_, seed) => historyOf(seed, options)).flat()
  const faults = new Set(steps.flatMap(step => (step.act === 'fault' ? [step.word] : [])))
  assert.deepEqual([...faults].sort(), [...options.words].sort())
  assert.deepEqual([...new Set(steps.map(({ act }) => act))].sort(), [
    'attach',
    'clock',
    'delete-jobs',
    'detach',
    'fault',
    'join',
    'leave',
    'mtu',
    'partition',
    'pause',
    'reboot',
    'resume',
  ])
})

test('each fault has its turn before one comes again', () => {
  const drawn = historyOf(7, { ...options, steps: 500 }).flatMap(step => (step.act === 'fault' ? [step.word] : []))
  const once = drawn.slice(0, options.words.length)
  assert.deepEqual(once.sort(), [...options.words].sort())
})

const short = shortSeeds.flatMap(seed => shortHistory(seed))

for (const [what, words] of Object.entries(promisedFaults))
  test(`the short form has it: ${what}`, () => {
    for (const word of words)
      assert.ok(
        short.some(step => step.act === 'fault' && step.word === word),
        word,
      )
  })

for (const [what, isIt] of Object.entries(promisedActs))
  test(`the short form has it: ${what}`, () => assert.ok(short.some(isIt)))

test('without a broker none of its faults is chosen', () => {
  assert.ok(!wordsFor({ broker: false }).some(word => /notifications|broker/.test(word)))
  assert.ok(wordsFor({ broker: false }).includes('slow-neutron'))
})

test('a history is cut in ever smaller pieces, in its order', () => {
  const history = historyOf(1, { ...options, steps: 8 })
  const cut = shorter(history)
  assert.ok(cut.every(each => each.length < 8 && inOrder(each, history)))
  assert.deepEqual([...new Set(cut.map(each => each.length))], [4, 6, 7])
  assert.deepEqual(shorter(history.slice(0, 1)), [])
})

function inOrder(piece: Step[], whole: Step[]): boolean {
  const places = piece.map(step => whole.indexOf(step))
  return places.every((place, at) => place > (places[at - 1] ?? -1))
}
