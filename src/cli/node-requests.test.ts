/** `multinic retry` and `multinic check --now`, with a real controller on the sandbox's Kubernetes API. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type Run, runner } from '../../test/support/cli.ts'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import type { AgentReport } from '../contract/agent-report.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { aNic } from '../controller/controller.fixture.ts'

let cluster: ControllerCluster
let controller: { stop(): Promise<void> }
let multinic: Run

before(async () => {
  cluster = await startControllerCluster()
  controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
  multinic = runner({ KUBECONFIG: cluster.api.kubeconfig })
})
after(async () => {
  await controller.stop()
  await cluster.close()
})

const broken = aNic(0, { status: 'Failed', reason: 'PersistFailed', message: 'read-only file system' })
const failure = {
  verdict: 'Failed',
  reason: 'PersistFailed',
  message: 'no',
  interfaces: [broken],
} satisfies Partial<AgentReport>

async function configured(name: string): Promise<void> {
  await cluster.addConfig(name, await cluster.addNode(name))
  await cluster.finishPod(await cluster.endAgent(name))
  await cluster.expectConfigured(name)
}

test('retry runs the agent at once, shows what happens, and ends with the result', async () => {
  await cluster.addConfig('w1', await cluster.addNode('w1'))
  await cluster.finishPod(await cluster.endAgent('w1', failure))
  await cluster.expectStatus('w1', 'Failed 0/1 False ApplyFailed: no')

  const failing = multinic('retry', 'w1')
  await cluster.finishPod(await cluster.endAgent('w1', failure))
  const failed = await failing
  assert.equal(failed.code, 1)
  assert.match(
    failed.out,
    /^w1 {2}Failed {2}0\/1 {2}ApplyFailed: no\n {2}multinic0 {2}Failed {2}PersistFailed: read-only/,
  )

  const healing = multinic('retry', 'w1', 'multinic0')
  await cluster.finishPod(await cluster.endAgent('w1'))
  const healed = await healing
  assert.deepEqual([healed.code, healed.error], [0, ''])
  assert.match(healed.out, /^w1 {2}Configured {2}1\/1 {2}AllInterfacesConfigured: /)
  assert.match(healed.notes[0] ?? '', /^w1 {2}Failed .*: waiting for the controller$/)
  assert.equal((await cluster.configOf('w1'))?.metadata.annotations?.['multinic.io/retry'], undefined)
})

test('retry applies a Configured node again', async () => {
  await configured('w2')
  const again = multinic('retry', 'w2')
  assert.equal(inputOf(await cluster.endAgent('w2')).mode, 'apply')
  assert.equal((await again).code, 0)
})

test('check --now looks at the node and exits with 1 when it differs', async () => {
  await configured('w3')
  const looking = multinic('check', '--now', 'w3')
  const pod = await cluster.endAgent('w3', { verdict: 'InSync', reason: 'InSync', changed: 0 })
  assert.equal(inputOf(pod).mode, 'check')
  assert.equal((await looking).code, 0)
  await cluster.finishPod(pod)
  const again = multinic('check', '--now', 'w3')
  const changed = [aNic(0, { status: 'Failed', reason: 'Drifted', message: 'mtu: 1500 ≠ 9000' })]
  await cluster.endAgent('w3', {
    verdict: 'Drifted',
    reason: 'Drifted',
    message: 'mtu',
    changed: 0,
    interfaces: changed,
  })
  const { code, out } = await again
  assert.equal(code, 1)
  assert.match(out, /Drifted/)
})

test('without --wait the command only leaves the request', async () => {
  await configured('w4')
  const { code, out } = await multinic('retry', 'w4', '--no-wait')
  assert.deepEqual([code, out], [0, 'w4: retry requested\n'])
  await cluster.finishPod(await cluster.endAgent('w4'))
})

const mistakes: Record<string, [args: string[], code: number, says: RegExp]> = {
  'an unknown node': [
    ['retry', 'nobody'],
    1,
    /not found: no MultiNicNodeConfig is named nobody in namespace multinic-system/,
  ],
  'an unknown interface': [
    ['retry', 'w1', 'multinic7'],
    2,
    /w1 has no interface multinic7; its interfaces are multinic0/,
  ],
  'a time limit that is no duration': [['retry', 'w1', '--timeout', 'soon'], 2, /"soon" is not a duration/],
}
for (const [name, [args, code, says]] of Object.entries(mistakes))
  test(`${name} is refused`, async () => {
    const ended = await multinic(...args)
    assert.equal(ended.code, code, ended.error)
    assert.match([...ended.notes, ended.error].join('\n'), says)
  })

test('a controller that does not react is named', async () => {
  await controller.stop()
  const { code, error } = await multinic('retry', 'w2', '--timeout', '1s')
  assert.equal(code, 2)
  assert.match(error, /w2: no result after 1s; the controller does not react: run multinic doctor/)
  await cluster.kube.patch(
    nodeConfigs,
    { namespace: cluster.namespace, name: 'w2' },
    { metadata: { annotations: { 'multinic.io/retry': null } } },
  )
  controller = await cluster.startController({ DRIFT_INTERVAL: 'off' })
})

test('only a node whose state is known is checked', async () => {
  await cluster.addConfig('w5', await cluster.addNode('w5'))
  await cluster.finishPod(await cluster.endAgent('w5', failure))
  await cluster.expectStatus('w5', 'Failed 0/1 False ApplyFailed: no')
  const { code, error } = await multinic('check', '--now', 'w5')
  assert.equal(code, 2)
  assert.match(
    error,
    /w5 is Failed \(ApplyFailed\): only a Configured or Drifted node is checked; run multinic retry w5/,
  )
})
