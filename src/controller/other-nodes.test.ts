/** The agent learns which of the requested addresses other Nodes have as their own. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, inputOf, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { nodes } from '../kube/resources.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

const internal = (...addresses: string[]) => ({
  addresses: addresses.map(address => ({ type: 'InternalIP', address })),
})

async function inputFor(nodeName: string) {
  await eventually(async () => assert.equal((await cluster.podsOn(nodeName)).length, 1))
  const [pod] = await cluster.podsOn(nodeName)
  assert.ok(pod)
  return inputOf(pod)
}

test('an address of another Node is in the input; addresses of the same Node, and further ones of others, are not', async () => {
  const controller = await cluster.startController()
  try {
    const ids = { taken: await cluster.addNode('taken'), own: await cluster.addNode('own') }
    await cluster.addNode('other')
    await cluster.kube.patchStatus(nodes, { name: 'taken' }, internal('10.0.0.11'))
    await cluster.kube.patchStatus(nodes, { name: 'own' }, internal('10.0.0.12', '192.168.0.10', '192.168.1.10'))
    await cluster.kube.patchStatus(nodes, { name: 'other' }, internal('192.168.0.10', '10.0.0.13', '192.168.1.10'))
    await cluster.addConfig('taken', ids.taken, { nics: 2 })
    assert.deepEqual((await inputFor('taken')).addressesOfNodes, [{ address: '192.168.0.10', nodeName: 'other' }])
    await cluster.kube.patchStatus(nodes, { name: 'other' }, internal('10.0.0.13'))
    await cluster.addConfig('own', ids.own, { nics: 2 })
    assert.equal((await inputFor('own')).addressesOfNodes, undefined)
  } finally {
    await controller.stop()
  }
})
