/**
 * The nodes of the sandbox with real kubelets, containerd and runc (../rigs/kubernetes/sandbox-kubelets.ts), as chaos uses them.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FaultName } from '../../sandbox/faults/catalogue.ts'
import { agentSelector } from '../../src/controller/job.ts'
import { nodes, pods } from '../../src/kube/resources.ts'
import { eventually } from '../support/eventually.ts'
import { startTestSandbox, type TestSandbox } from './sandbox.fixture.ts'

let system: TestSandbox
before(
  async () => {
    system = await startTestSandbox({ nodes: 1, real: { kubernetes: true, kubelets: true } })
  },
  { timeout: 180_000 },
)
after(() => system?.stop())

const namesOf = async () => (await system.nodeState('worker-1')).nics.map(({ name }) => name)

test('the agent of the image configures a NIC of a sandbox node, and a reboot keeps it', {
  timeout: 180_000,
}, async () => {
  const { sandbox } = system
  const { status } = (await sandbox.biz.kube.get(nodes, { name: 'worker-1' })) ?? {}
  assert.match(JSON.stringify(status), /"containerRuntimeVersion":"containerd:/)
  system.attach({ vm: 'worker-1', subnet: 'storage' })
  await system.waitUntilReady()
  assert.ok((await namesOf()).includes('multinic0'))

  const bootID = sandbox.nodes.get('worker-1')?.bootID
  await sandbox.reboot('worker-1')
  assert.notEqual(sandbox.nodes.get('worker-1')?.bootID, bootID)
  assert.ok((await namesOf()).includes('multinic0'))
  // The agent of the new boot has run, so the kubelet is back.
  const isVerified = async () =>
    assert.equal((await system.nodeConfig('worker-1')).status?.bootID, sandbox.nodes.get('worker-1')?.bootID)
  await eventually(isVerified, { within: 90_000 })
  await system.waitUntilReady()
})

test('killed-agent: the kubelet restarts the agent of the image, and the NIC is configured', {
  timeout: 180_000,
}, async () => {
  const { sandbox } = system
  await sandbox.faults.start({ name: 'killed-agent' })
  system.attach({ vm: 'worker-1', subnet: 'backup' })
  try {
    const isRestarted = async () => {
      const { items } = await sandbox.biz.kube.list(pods, { labelSelector: agentSelector })
      assert.match(JSON.stringify(items.map(({ status }) => status?.containerStatuses)), /"exitCode":137/)
    }
    await eventually(isRestarted, { within: 60_000 })
  } finally {
    await sandbox.faults.stop()
  }
  await system.waitUntilReady(90_000)
})

/** What the agent reports, by fault. */
const reported: Partial<Record<FaultName, RegExp>> = {
  'full-disk': /no space left/i,
  'read-only-etc': /read-only file system/i,
}

for (const [fault, message] of Object.entries(reported) as [FaultName, RegExp][])
  test(`${fault}: the agent of the image sees it, and configures the NIC after it`, { timeout: 180_000 }, async () => {
    const { sandbox } = system
    await sandbox.faults.start({ name: fault })
    system.attach({ vm: 'worker-1', subnet: 'backup' })
    try {
      const isReported = async () => assert.match(JSON.stringify((await system.nodeConfig('worker-1')).status), message)
      await eventually(isReported, { within: 90_000 })
    } finally {
      await sandbox.faults.stop()
    }
    await system.waitUntilReady(120_000)
  })
