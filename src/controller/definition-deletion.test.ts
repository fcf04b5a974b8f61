/**
 * Configs that are deleted with their CRD: a release that is pruned, or kubectl delete crd.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { crdOf, kinds } from '../contract/crd.ts'
import { crds, events } from '../kube/resources.ts'
import type { KubeObject } from '../kube/types.ts'

const names = ['n1', 'n2', 'n3']
const [definition] = kinds.filter(({ kind }) => kind === 'MultiNicNodeConfig').map(kind => crdOf(kind) as KubeObject)
const key = { name: definition?.metadata.name ?? '' }
const machines = new Map<string, string>()
let cluster: ControllerCluster
let controller: Awaited<ReturnType<ControllerCluster['startController']>>

before(async () => {
  cluster = await startControllerCluster()
  for (const name of names) machines.set(name, await cluster.addNode(name))
  controller = await cluster.startController()
  await configure()
})

after(async () => {
  await controller.stop()
  await cluster.close()
})

async function configure(): Promise<void> {
  for (const name of names) {
    await cluster.addConfig(name, machines.get(name) ?? '')
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
}

const isGone = () => eventually(async () => assert.equal(await cluster.kube.get(crds, key), undefined))

test('the interfaces stay on the nodes, and an Event says so', async () => {
  await cluster.kube.delete(crds, key)
  await isGone()
  assert.deepEqual(await cluster.waitingPods(), [])
  await eventually(async () => {
    const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
    const released = items.filter(({ reason }) => reason === 'InterfacesRetained')
    assert.deepEqual(released.map(({ involvedObject }) => involvedObject.name).toSorted(), names)
    assert.match(released[0]?.message ?? '', /CustomResourceDefinition is being deleted.* stay on the node/)
  })
})

test('they are removed if that was approved before', async () => {
  await cluster.kube.create(crds, definition ?? assert.fail())
  await eventually(configure, { within: 60_000 })
  await cluster.approveDeletions()
  await cluster.kube.delete(crds, key)
  for (let left = names.length; left > 0; left--) {
    const [pod = assert.fail()] = await eventually(async () => {
      const open = await cluster.waitingPods()
      assert.ok(open.length > 0)
      return open
    })
    assert.equal(inputOf(pod).mode, 'cleanup')
    await cluster.finishPod(await cluster.endAgent(inputOf(pod).nodeName, { verdict: 'Removed', interfaces: [] }))
    await eventually(async () => assert.equal((await cluster.waitingPods()).includes(pod), false))
  }
  await isGone()
})
