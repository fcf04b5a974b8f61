/** The time of a port until it is ready is measured once for each of its requests. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseExposition } from '../../test/support/exposition.ts'
import { aReadyWrite, aWrite } from '../../test/support/inventory.ts'
import { silent } from '../telemetry/log.ts'
import { createMetrics } from '../telemetry/metrics.ts'
import { measureReadyPorts } from './ready-ports.ts'
import { openStore } from './store.ts'

async function aStore() {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-ready-'))
  const metrics = createMetrics('inventory')
  const store = await openStore({ path: join(dir, 'inventory.db'), log: silent, onReady: measureReadyPorts(metrics) })
  return {
    store,
    /** Sum of seconds of each series, with the number of ports: `p1 verified 6s 1`. */
    async measured(): Promise<string[]> {
      const samples = parseExposition(await metrics.text()).get('multinic_port_ready_seconds')?.samples ?? []
      return samples
        .filter(({ name }) => name.endsWith('_sum'))
        .map(({ labels: { provider, stage }, value: sum }) => {
          const count = samples.find(
            ({ name, labels }) =>
              name.endsWith('_count') && labels['stage'] === stage && labels['provider'] === provider,
          )
          return `${provider} ${stage} ${sum}s ${count?.value}`
        })
    },
    async [Symbol.asyncDispose]() {
      await store.close()
      await rm(dir, { recursive: true })
    },
  }
}

const ready = ['p1 delivered 1s 1', 'p1 cr 2s 1', 'p1 job 3s 1', 'p1 applied 4s 1', 'p1 verified 5s 1']

test('each stage is measured from the time when the port was seen, once the last one is stored', async () => {
  await using it = await aStore()
  const complete = aReadyWrite('a')
  const { verified: _, ...first } = complete.interfaces?.[0]?.stages ?? {}
  await it.store.put([{ ...complete, interfaces: [{ ...complete.interfaces?.[0], stages: first }] }])
  assert.deepEqual(await it.measured(), [])
  await it.store.put([complete])
  assert.deepEqual(await it.measured(), ready)
})

test('repeated writes, later times, another state and a rename do not measure a port again', async () => {
  await using it = await aStore()
  const write = aReadyWrite('a')
  await it.store.put([write, write])
  await it.store.put([write])
  await it.store.put([aReadyWrite('a', { from: 30 })])
  await it.store.put([{ ...write, state: 'Failed', reason: 'ApplyFailed' }])
  await it.store.put([{ ...write, instanceName: 'renamed' }])
  assert.deepEqual(await it.measured(), ready)
})

test('a new request of the port is measured again', async () => {
  await using it = await aStore()
  await it.store.put([aReadyWrite('a')])
  const changed = aReadyWrite('a', { from: 10 })
  const interfaces = changed.config.interfaces.map(nic => ({ ...nic, mtu: 9000 }))
  await it.store.put([{ ...changed, config: { ...changed.config, interfaces }, lastConfigHash: 'new' }])
  assert.equal((await it.measured()).at(-1), 'p1 verified 10s 2')
})

test('a port without one of the stages, or with a time of another clock, is not measured', async () => {
  await using it = await aStore()
  const [nic] = aReadyWrite('a').interfaces ?? []
  const { cr: _, ...withoutCr } = nic?.stages ?? {}
  await it.store.put([aReadyWrite('a', { stages: withoutCr })])
  await it.store.put([aReadyWrite('b', { stages: { ...nic?.stages, job: '2020-01-01T00:00:00Z' } })])
  await it.store.put([aReadyWrite('c', { stages: { ...nic?.stages, verified: '2999-01-01T00:00:00Z' } })])
  await it.store.put([aWrite('d', { state: 'Configured' }), aWrite('d', { removed: true })])
  assert.deepEqual(await it.measured(), [])
})

test('a write that fails is not measured', async () => {
  await using it = await aStore()
  const invalid = { ...aReadyWrite('b'), lastConfigHash: undefined as unknown as string }
  await assert.rejects(it.store.put([aReadyWrite('a'), invalid]))
  assert.deepEqual(await it.measured(), [])
})

test('providers beyond the hundredth share one label', async () => {
  await using it = await aStore()
  await it.store.put(Array.from({ length: 103 }, (_, n) => ({ ...aReadyWrite('a'), providerId: `p${n}` })))
  const verified = (await it.measured()).filter(series => series.includes('verified'))
  assert.deepEqual([verified.length, verified.at(-1)], [101, 'other verified 15s 3'])
})
