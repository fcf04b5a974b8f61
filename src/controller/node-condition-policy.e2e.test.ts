/**
 * The admission policy for NODE_CONDITION on a real API server: what somebody with the token of such a controller can change
 * in a Node (attack M10).
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { root } from '../../test/support/audited-cluster.ts'
import { eventually } from '../../test/support/eventually.ts'
import { type RealController, startRealController } from '../../test/support/real-controller.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'

let real: RealController
/** With the token of the controller. */
let kube: KubeClient

before(async () => {
  real = await startRealController({ options: ['controller_node_condition.yaml'] })
  const { kubeconfig, addNode } = await real.install('multinic-system')
  await addNode('w1')
  await real.cp.exec('kubectl', ['apply', '-f', join(root, 'config/admission/node-condition.yaml')])
  kube = connectKube(await loadKubeconfig(kubeconfig))
  // The API server compiles a new policy in the background.
  await eventually(async () => assert.notEqual(await patch({ metadata: { labels: { x: 'y' } } }), ''), {
    within: 60_000,
    every: 250,
  })
})

after(async () => {
  await kube?.close()
  await real?.close()
})

/** The refusal of the API server, or an empty text. */
async function patch(change: object): Promise<string> {
  const contentType = 'application/strategic-merge-patch+json'
  try {
    await kube.raw('PATCH', '/api/v1/nodes/w1/status?dryRun=All', change, { contentType })
    return ''
  } catch (error) {
    return String(error)
  }
}

const condition = (type: string, status: string) => ({ type, status, reason: 'Test', message: 'a test' })
const changes: Record<string, object> = {
  'its labels': { metadata: { labels: { 'node-role.kubernetes.io/control-plane': '' } } },
  'its annotations': { metadata: { annotations: { x: 'y' } } },
  'its finalizers': { metadata: { finalizers: ['example.com/x'] } },
  'its addresses': { status: { addresses: [{ type: 'InternalIP', address: '192.0.2.1' }] } },
  'its SystemUUID': { status: { nodeInfo: { systemUUID: '6f1c2a10-0001-4aaa-8bbb-999999999999' } } },
  'its capacity': { status: { capacity: { cpu: '1000' } } },
  'what it can allocate': { status: { allocatable: { cpu: '1000' } } },
  'its images': { status: { images: [{ names: ['x'] }] } },
  'its attached volumes': { status: { volumesAttached: [{ name: 'x', devicePath: '/dev/x' }] } },
  'its volumes in use': { status: { volumesInUse: ['x'] } },
  'the port of its kubelet': { status: { daemonEndpoints: { kubeletEndpoint: { Port: 1 } } } },
  'its runtime handlers': { status: { runtimeHandlers: [{ name: 'x', features: { userNamespaces: true } }] } },
  'its features': { status: { features: { supplementalGroupsPolicy: true } } },
  'its declared features': { status: { declaredFeatures: ['X'] } },
  'its phase': { status: { phase: 'Running' } },
  'its Ready condition': { status: { conditions: [condition('Ready', 'False')] } },
  'another condition beside its own': {
    status: { conditions: [condition('MultiNicReady', 'True'), condition('DiskPressure', 'True')] },
  },
  'the list of conditions': { status: { conditions: [{ $patch: 'delete', type: 'Ready' }] } },
}
for (const [name, change] of Object.entries(changes))
  test(`the token of a controller with NODE_CONDITION cannot change of a Node ${name}`, async () => {
    assert.match(await patch(change), /the controller may only change the condition MultiNicReady of a Node/)
  })

test('the token of a controller with NODE_CONDITION can set and change its own condition', async () => {
  for (const status of ['True', 'False'])
    assert.equal(await patch({ status: { conditions: [condition('MultiNicReady', status)] } }), '')
})
