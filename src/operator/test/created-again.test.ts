/** What is remembered of an object ends with it, also if the operator never sees that it was gone. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addPort, addServer, addSubnet } from '../../../sandbox/cloud/state.ts'
import { clusterId, startOperatorEnvironment } from '../../../test/operator/environment.ts'
import { openReconciled } from '../../../test/operator/reconciled.ts'
import { openstackConfigs } from '../../contract/openstack-config.ts'
import { noHints } from '../events/hints.ts'

test('an object that is created again under its name is read from the beginning', async () => {
  const environment = await startOperatorEnvironment()
  try {
    const { cloudState, kube } = environment
    const subnet = addSubnet(cloudState, { name: 'net', cidr: '10.0.0.0/24', mtu: 1500 })
    addPort(cloudState, { server: addServer(cloudState, 'worker'), subnet }).status = 'ACTIVE'
    const credentials = {
      openstackProviderID: cloudState.provider.id,
      projectID: cloudState.project.id,
      k8sProviderID: clusterId,
    }
    const create = () => environment.create({ name: 'again', credentials, subnetIDs: [subnet.id] })
    await create()
    const clocks = { now: () => 0, date: () => new Date() }
    const options = { name: 'again', providerId: clusterId, namespace: 'multinic-system', clocks }
    await using side = await openReconciled(environment, options)
    await side.reconcile(noHints, 'sync')
    await side.reconcile(noHints, 'status')
    assert.deepEqual(side.reads, { everything: 1, cluster: 1 })
    await kube.patch(openstackConfigs, side.at, { metadata: { finalizers: [] } })
    await kube.delete(openstackConfigs, side.at)
    await create()
    await side.reconcile(noHints, 'status')
    assert.deepEqual(side.reads, { everything: 2, cluster: 1 })
  } finally {
    await environment.close()
  }
})
