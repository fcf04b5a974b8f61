/** A controller with an agent of another version, whose reasons it does not know. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { events } from '../kube/resources.ts'
import { aNic } from './controller.fixture.ts'

let cluster: ControllerCluster

before(async () => {
  cluster = await startControllerCluster()
})
after(() => cluster.close())

test('an unknown reason of an interface is in the status and in the Event as the agent reported it', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('old', await cluster.addNode('old'), { nics: 2 })
    const interfaces = [aNic(0), aNic(1, { status: 'Failed', reason: 'SomethingOld', message: 'eth9 has the name' })]
    await cluster.endAgent('old', { verdict: 'Failed', reason: 'SomethingOld', interfaces })
    const config = await eventually(async () => {
      const found = await cluster.configOf('old')
      assert.equal(found?.status?.state, 'Failed')
      return found
    })
    const reported = config?.status?.interfaceStatuses?.map(({ status, reason }) => `${status} ${reason}`)
    assert.deepEqual(reported, ['Configured Configured', 'Failed SomethingOld'])
    const ready = config?.status?.conditions?.find(({ type }) => type === 'Ready')
    assert.match(ready?.message ?? '', /^multinic1: SomethingOld: eth9 has the name/)
    await eventually(async () => {
      const { items } = await cluster.kube.list(events, { namespace: cluster.namespace })
      const event = items.find(
        ({ involvedObject, reason }) => involvedObject.name === 'old' && reason === 'ApplyFailed',
      )
      assert.equal(event?.type, 'Warning')
      assert.match(event?.message ?? '', /multinic1: SomethingOld: eth9 has the name/)
    })
  } finally {
    await controller.stop()
  }
})

test('an unknown reason of a run is in the status if the agent reports nothing else', async () => {
  const controller = await cluster.startController()
  try {
    await cluster.addConfig('whole', await cluster.addNode('whole'))
    await cluster.endAgent('whole', { verdict: 'Failed', reason: 'SomethingOld', interfaces: [] })
    await eventually(async () => {
      const { conditions } = (await cluster.configOf('whole'))?.status ?? {}
      assert.match(conditions?.find(({ type }) => type === 'Ready')?.message ?? '', /^SomethingOld$/)
    })
  } finally {
    await controller.stop()
  }
})
