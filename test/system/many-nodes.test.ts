/** A sandbox of 500 simulated nodes: all nodes exist, and the first, a middle and the last one get their NICs. */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { findServer, findSubnet } from '../../sandbox/cloud/state.ts'
import { statusTree } from '../../sandbox/control/status.ts'
import { createConfig, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import { makeStateDir, stateDir, stopAndRemove } from '../../sandbox/lifecycle/state-dir.ts'
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts'
import { nodes as nodeResource } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import { eventually } from '../support/eventually.ts'

const count = 500
const some = ['worker-1', 'worker-250', `worker-${count}`]
const patient = { timeout: 240_000 }
let parent: string
let sandbox: Sandbox

before(async () => {
  parent = await mkdtemp(join(tmpdir(), 'multinic-many-'))
  const state = stateDir(join(parent, 'sandbox'))
  await makeStateDir(state)
  // Only some of them get NICs: all of them would take a minute of CPU time.
  const options = { nodes: count, nicDelayMs: 0, simulated: true, withConfig: false }
  sandbox = await startSandbox({ ...options, state, log: silent })
}, patient)
after(async () => {
  await sandbox?.stop()
  if (sandbox) await stopAndRemove(sandbox.state)
  await rm(parent, { recursive: true })
}, patient)

test('every node exists, is ready and has its own address', patient, async () => {
  const { items } = await sandbox.biz.kube.list(nodeResource)
  assert.equal(items.length, count)
  const ready = items.filter(({ status }) =>
    status?.conditions?.some(condition => condition.type === 'Ready' && condition.status === 'True'),
  )
  assert.equal(ready.length, count)
  const addresses = items.map(({ status }) => status?.addresses?.find(({ type }) => type === 'InternalIP')?.address)
  assert.equal(new Set(addresses).size, count)
})

test(
  'the first, a middle and the last node get their NICs, and the tree summarizes many nodes in few lines',
  patient,
  async () => {
    const { cloudState, clusterId } = sandbox
    for (const vm of some) sandbox.attach({ vm, subnet: 'storage' })
    const vmNames = some.map(name => findServer(cloudState, name).id)
    const subnetIDs = [findSubnet(cloudState, 'storage').id]
    await createConfig(
      sandbox.management.kube,
      openstackConfigFor(cloudState, { name: 'some', vmNames, subnetIDs, clusterId }),
    )
    const status = await eventually(
      async () => {
        const now = await sandbox.status()
        const states = now.nodes
          .filter(({ name }) => some.includes(name))
          .map(({ interfaces }) => interfaces.map(nic => `${nic.name} ${nic.status}`))
        assert.deepEqual(states, [['multinic0 Configured'], ['multinic0 Configured'], ['multinic0 Configured']])
        return now
      },
      { within: 120_000, every: 200 },
    )
    assert.equal(status.nodes.length, count)
    assert.ok(statusTree(status).split('\n').length < 100, statusTree(status))
  },
)
