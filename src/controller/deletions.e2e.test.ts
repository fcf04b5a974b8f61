/**
 * Many deletions, and the deletion of the CRD, on a real API server with the rights of the controller.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { inputOf } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { readyOf } from '../contract/object.ts'
import { crds } from '../kube/resources.ts'

const names = ['n1', 'n2', 'n3']
const within = 60_000
let real: RealController
let harness: Awaited<ReturnType<RealController['install']>>
let controller: Awaited<ReturnType<typeof harness.startController>>

before(async () => {
  real = await startRealController()
  harness = await real.install('multinic-system')
  controller = await harness.startController({ MAX_UNAVAILABLE: '3' })
  for (const name of names) await configured(name, await harness.addNode(name))
})

after(async () => {
  await controller?.stop()
  await real?.close()
})

const machines = new Map<string, string>()

async function configured(name: string, machine: string): Promise<void> {
  machines.set(name, machine)
  await harness.addConfig(name, machine)
  await harness.finishPod(await harness.endAgent(name))
  await harness.expectConfigured(name)
}

test('the command of the condition approves what was deleted at once', async () => {
  await real.cp.exec('kubectl', ['-n', harness.namespace, 'delete', 'mnnc', '--all', '--wait=false'])
  const commands = await eventually(
    async () => {
      const configs = await Promise.all(names.map(harness.configOf))
      const ready = configs.map(config => config && readyOf(config))
      assert.deepEqual(
        ready.map(one => one?.reason),
        names.map(() => 'DeletionHeld'),
      )
      return ready.map(one => /kubectl .*/.exec(one?.message ?? '')?.[0] ?? '')
    },
    { within },
  )
  assert.deepEqual(await harness.waitingPods(), [])
  const [command = ''] = commands
  await real.cp.exec('sh', ['-c', command])
  for (const name of names) {
    const pod = await harness.endAgent(name)
    assert.equal(inputOf(pod).mode, 'cleanup')
    await harness.finishPod(pod)
  }
  for (const name of names)
    await eventually(async () => assert.equal(await harness.configOf(name), undefined), { within })
})

test('what is deleted with its CRD leaves its interfaces on the nodes', async () => {
  await real.cp.exec('kubectl', ['annotate', 'namespace', harness.namespace, 'multinic.io/approve-deletions-'])
  for (const name of names) await configured(name, machines.get(name) ?? '')
  const { plural, group } = nodeConfigs
  const name = `${plural}.${group}`
  await real.kube.delete(crds, { name })
  await eventually(async () => assert.equal(await real.kube.get(crds, { name }), undefined), { within })
  assert.deepEqual(await harness.waitingPods(), [])
})
