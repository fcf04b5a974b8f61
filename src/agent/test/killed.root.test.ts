/**
 * Wherever the agent is killed, every NIC ends in its old or its new state, and nothing foreign changes (G1, G6).
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import { killAtEveryStep } from '../../../test/rigs/host/kill-at-every-step.ts'
import { diskOf, nodeFactory, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const node = nodeFactory(after)

test('a run that adds or removes two NICs may be killed after every step', { timeout: 10 * 60_000 }, () =>
  killAtEveryStep({
    nics: 2,
    from: () => [],
    to: nics => nics.map((nic, id) => requestedInterface(nic, id, id === 0 ? { addresses: [nic.address6] } : {})),
    minSteps: [50, 50],
  }),
)

test('a run that renames a NIC may be killed after every step, also on a kernel that renames no link that is up', () =>
  killAtEveryStep({
    nics: 1,
    from: nics => nics.map(nic => requestedInterface(nic, 0, { addresses: [nic.address6] })),
    to: nics => nics.map(nic => requestedInterface(nic, 1, { addresses: [nic.address6] })),
    minSteps: [20],
    oldKernel: true,
  }))

test('the next run rolls back a run that was killed between journal and commit, and then continues', async () => {
  const vm = await node({ nics: 2 })
  const [a, b] = vm.nics
  assert.ok(a && b)
  const untouched = { ...kernelState(vm), files: diskOf(vm) }
  const interfaces = [requestedInterface(a, 0), requestedInterface(b, 1)]
  const journal = vm.path('var/lib/multinic/journal')
  const entries = () => (existsSync(journal) ? readdirSync(journal) : [])
  let hit = 0
  for (let attempt = 0; attempt < 40 && hit < 3; attempt++) {
    const run = vm.start({ interfaces })
    await eventually(() => assert.ok(entries().length > 0), { within: 60_000, every: 0 })
    await sleep(attempt % 8)
    process.kill(run.pid, 'SIGKILL')
    await run.done
    if (entries().some(name => /^\d+\.json$/.test(name))) hit++
    const clean = await vm.agent({ mode: 'cleanup', interfaces: [] })
    assert.equal(clean.report?.verdict, 'Removed', clean.log)
    assert.deepEqual({ ...kernelState(vm), files: diskOf(vm, path => !path.includes('backup')) }, untouched)
  }
  assert.ok(hit > 0, 'no run was killed between journal and commit')
  const ran = await vm.agent({ interfaces })
  assert.equal(ran.report?.verdict, 'Configured', ran.log)
})
