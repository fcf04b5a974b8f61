import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPlanLimit } from './plan-limit.ts'

/** With an account for each request, because whoever owns a namespace can create accounts. */
test('a namespace with plans that hang leaves plans to the others', async () => {
  const { run } = createPlanLimit()
  const { promise: hanging, resolve } = Promise.withResolvers<string>()
  const ask = (namespace: string, caller: number) =>
    run({ user: `${namespace}-${caller}`, namespace }, () => hanging).catch(({ status }) => status)
  const all = ['team-a', 'team-b', 'team-c', 'team-d', 'team-e'].map(namespace =>
    Array.from({ length: 50 }, (_, caller) => ask(namespace, caller)),
  )
  resolve('planned')
  const planned = async (of: Promise<unknown>[]) => (await Promise.all(of)).filter(one => one === 'planned').length
  assert.deepEqual(await Promise.all(all.map(planned)), [5, 3, 1, 1, 0])
  assert.equal(await ask('team-a', 1), 'planned', 'what has ended counts no more')
})
