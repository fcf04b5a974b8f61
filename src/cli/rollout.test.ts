/** `multinic rollout`, with a real controller on the sandbox's Kubernetes API. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { namespaces } from '../kube/resources.ts'

const names = ['w1', 'w2', 'w3']
const settings = { DRIFT_INTERVAL: 'off', MAX_UNAVAILABLE: '1', FAILURE_BUDGET: '1' }
let cluster: ControllerCluster
let controller: { stop(): Promise<void> }
let multinic: Run

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController(settings)
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
  for (const name of names) await cluster.addConfig(name, await cluster.addNode(name))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)
})
after(async () => {
  await controller.stop()
  await cluster.close()
})

async function restartWith(image: string): Promise<void> {
  await controller.stop()
  controller = await cluster.startController({ ...settings, AGENT_IMAGE: image })
}

test('without a request there is nothing to show', async () => {
  const { code, notes } = await multinic('rollout', 'status')
  assert.deepEqual([code, notes], [1, ['no agent rollout is requested in namespace multinic-system']])
})

test('rollout agent shows each wave, and ends when every node has the current agent', async () => {
  await restartWith('multinic-agent:2')
  const running = multinic('rollout', 'agent', '--timeout', '2m')
  for (const [at, name] of names.entries()) {
    await eventually(async () => {
      const { out } = await multinic('rollout', 'status')
      assert.match(
        out,
        new RegExp(`\\n${at} of 3 nodes updated, .*${at < 2 ? '\\n {2}RolloutWaiting: other nodes' : ''}`),
      )
    })
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  const { code, out, notes } = await running
  assert.deepEqual([code, out], [0, '3 of 3 nodes updated\n'])
  assert.match(notes[0] ?? '', /^agent rollout requested: \d{4}-/)
  const status = await multinic('rollout', 'status')
  assert.deepEqual([status.code, status.out.split('\n')[1]], [0, '3 of 3 nodes updated'])
})

test('a node that fails stops the rollout, and the CLI names it', async () => {
  await restartWith('multinic-agent:3')
  const running = multinic('rollout', 'agent')
  await cluster.finishPod(await cluster.endAgent('w1', { verdict: 'Failed', message: 'no route', interfaces: [] }))
  const { code, out } = await running
  assert.equal(code, 1)
  assert.match(out, /^0 of 3 nodes updated, .*2 waiting.*\n {2}RolloutStopped: 1 node failed after its change/)
  assert.match(out, /\n {2}w1 {2}ApplyFailed: no route/)
  assert.equal((await multinic('rollout', 'status')).code, 1)
})

test('--cancel withdraws the request', async () => {
  const { code, out } = await multinic('rollout', 'agent', '--cancel')
  assert.deepEqual([code, out.startsWith('agent rollout withdrawn')], [0, true])
  await eventually(async () => assert.equal((await cluster.configOf('w3'))?.status?.agentRollout, undefined))
  assert.equal((await multinic('rollout', 'status')).code, 1)
})

test('a time limit ends the wait and not the rollout', async () => {
  const pause = (value: string | null) =>
    cluster.kube.patch(
      namespaces,
      { name: cluster.namespace },
      { metadata: { annotations: { 'multinic.io/paused': value } } },
    )
  await pause('true')
  const { code, error } = await multinic('rollout', 'agent', '--timeout', '1s')
  assert.equal(code, 2)
  assert.match(error, /the rollout has not ended; it goes on. Run multinic rollout status/)
  await eventually(async () => assert.equal((await cluster.configOf('w3'))?.status?.agentRollout?.reason, 'Paused'))
  await pause(null)
  await eventually(async () =>
    assert.equal((await cluster.configOf('w3'))?.status?.agentRollout?.reason, 'RolloutStopped'),
  )
})
