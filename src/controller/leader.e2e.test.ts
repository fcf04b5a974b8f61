/**
 * Two controllers on a real API server, one of them killed in the middle of 200 Jobs: none is made twice, none is lost.
 * The real parts are of test/rigs/kubernetes/rig.ts.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { allAgents } from '../../test/agent-player.ts'
import { inputOf } from '../../test/controller-cluster.ts'
import { eventually } from '../../test/eventually.ts'
import { type RealController, startRealController } from '../../test/real-controller.ts'
import type { Daemon } from '../../test/rigs/process.ts'
import { nodeConfigs } from '../contract/node-config.ts'
import { leases, nodes } from '../kube/resources.ts'
import { aConfig } from './given.ts'

const count = 200
const within = 120_000
const namespace = 'multinic-system'
let real: RealController
const replicas = new Map<string, Daemon>()

before(async () => {
  real = await startRealController()
})

after(async () => {
  for (const replica of replicas.values()) await replica.stop('SIGKILL')
  await real?.close()
})

async function leader(): Promise<string> {
  const lease = await real.kube.get(leases, { namespace, name: 'multinic-controller' })
  return (lease?.spec?.holderIdentity ?? '').split('_')[0] ?? ''
}

test('a leader that is killed in the middle of 200 Jobs leaves none twice and none undone', async t => {
  const { kubeconfig } = await real.install(namespace)
  const env = { KUBECONFIG: kubeconfig, LEADER_ELECT: 'true' }
  for (const name of ['one', 'two']) replicas.set(name, real.startProcess(name, { ...env, POD_NAME: name }))
  await eventually(async () => assert.ok(replicas.has(await leader())), { within })

  const player = await allAgents(real.kube, namespace, { perSecond: 40 })
  const names = Array.from({ length: count }, (_, index) => `n${index}`)
  for (const [index, name] of names.entries()) {
    const systemUUID = `6f1c2a10-0002-4aaa-8bbb-${index.toString().padStart(12, '0')}`
    await real.kube.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } })
    const ready = { type: 'Ready', status: 'True' }
    const nodeInfo = { systemUUID, bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' }
    await real.kube.patchStatus(nodes, { name }, { nodeInfo, conditions: [ready] })
    const { apiVersion, kind, spec } = aConfig({ name, instanceId: systemUUID, nics: 1 })
    await real.kube.create(nodeConfigs, { apiVersion, kind, metadata: { name, namespace }, spec })
    if (index !== count / 2) continue
    const killed = await leader()
    await replicas.get(killed)?.stop('SIGKILL')
    t.diagnostic(`${killed} was killed with ${player.seen().length} Jobs made`)
  }

  await eventually(
    async () => {
      const { items } = await real.kube.list(nodeConfigs, { namespace })
      assert.equal(items.filter(({ status }) => status?.state === 'Configured').length, count)
    },
    { within, every: 500 },
  )
  const worked = player.seen().map(pod => inputOf(pod).nodeName)
  await player.stop()
  assert.deepEqual(worked.toSorted(), names.toSorted())
})
