/** Chaos histories: repeatable, valid, and shortened. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requiredActions, requiredFaults, shortHistory, shortSeeds } from './coverage.ts'
import { faultsFor, historyOf, type Step, shorter } from './history.ts'

const options = {
  steps: 200,
  vms: ['worker-1', 'worker-2'],
  subnets: ['storage', 'backup'],
  faults: faultsFor({ broker: true }),
}

test('the seed determines the history', () => {
  assert.deepEqual(historyOf(7, options), historyOf(7, options))
  assert.notDeepEqual(historyOf(7, options), historyOf(8, options))
})

test('the OpenstackConfig always names at least one VM and one subnet', () => {
  for (let seed = 0; seed < 50; seed++) {
    const [vms, subnets] = [new Set<string>(), new Set<string>()]
    for (const step of historyOf(seed, options)) {
      if (step.action === 'exclude-vm') vms.add(step.vm)
      if (step.action === 'include-vm') vms.delete(step.vm)
      if (step.action === 'exclude-subnet') subnets.add(step.subnet)
      if (step.action === 'include-subnet') subnets.delete(step.subnet)
      assert.ok(vms.size < options.vms.length && subnets.size < options.subnets.length, `seed ${seed}`)
    }
  }
})

test('only attached ports change or are detached, and a node never has too many', () => {
  for (let seed = 0; seed < 50; seed++) {
    const attached = new Map<string, string>()
    for (const step of historyOf(seed, options)) {
      if (step.action === 'attach') attached.set(step.port, step.vm)
      if (step.action === 'addresses') assert.ok(attached.has(step.port), `seed ${seed}: ${step.port}`)
      if (step.action === 'detach') assert.ok(attached.delete(step.port), `seed ${seed}: ${step.port}`)
      for (const vm of options.vms) assert.ok([...attached.values()].filter(owner => owner === vm).length <= 8)
    }
  }
})

test('every kind of action and every fault occurs', () => {
  const steps = Array.from({ length: 100 }, (_, seed) => historyOf(seed, options)).flat()
  const faults = new Set(steps.flatMap(step => (step.action === 'fault' ? [step.fault] : [])))
  assert.deepEqual([...faults].sort(), [...options.faults].sort())
  assert.deepEqual([...new Set(steps.map(({ action }) => action))].sort(), [
    'addresses',
    'attach',
    'clock',
    'delete-jobs',
    'detach',
    'drift',
    'exclude-subnet',
    'exclude-vm',
    'fault',
    'gateway',
    'include-subnet',
    'include-vm',
    'mtu',
    'partition',
    'pause',
    'reboot',
    'rename',
    'resume',
    'rollout',
    'routes',
  ])
})

test('each fault occurs once before any fault occurs again', () => {
  const drawn = historyOf(7, { ...options, steps: 500 }).flatMap(step => (step.action === 'fault' ? [step.fault] : []))
  const once = drawn.slice(0, options.faults.length)
  assert.deepEqual(once.sort(), [...options.faults].sort())
})

const short = shortSeeds.flatMap(seed => shortHistory(seed))

for (const [what, faults] of Object.entries(requiredFaults))
  test(`the short form covers: ${what}`, () => {
    for (const fault of faults)
      assert.ok(
        short.some(step => step.action === 'fault' && step.fault === fault),
        fault,
      )
  })

for (const [what, matches] of Object.entries(requiredActions))
  test(`the short form covers: ${what}`, () => assert.ok(short.some(matches)))

test('without a broker, no fault of the broker occurs', () => {
  assert.ok(!faultsFor({ broker: false }).some(fault => /notifications|broker/.test(fault)))
  assert.ok(faultsFor({ broker: false }).includes('slow-neutron'))
})

test('shortening removes ever smaller pieces and keeps the order', () => {
  const history = historyOf(1, { ...options, steps: 8 })
  const candidates = shorter(history)
  assert.ok(candidates.every(candidate => candidate.length < 8 && inOrder(candidate, history)))
  assert.deepEqual([...new Set(candidates.map(candidate => candidate.length))], [4, 6, 7])
  assert.deepEqual(shorter(history.slice(0, 1)), [])
})

function inOrder(part: Step[], whole: Step[]): boolean {
  const positions = part.map(step => whole.indexOf(step))
  return positions.every((position, index) => position > (positions[index - 1] ?? -1))
}
