/**
 * A run that is killed at any time is rolled back by the next one.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { kernelState } from '../../../test/rigs/host/kernel-state.ts'
import { diskOf, nodeFactory, requestedInterface } from '../../../test/rigs/host/node.ts'
import { eventually } from '../../../test/support/eventually.ts'

const node = nodeFactory(after)

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
