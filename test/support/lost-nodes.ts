/**
 * Nodes of a test cluster that vanish while an agent changes them, and return.
 */
import assert from 'node:assert/strict'
import { pods } from '../../src/kube/resources.ts'
import { type ControllerCluster, inputOf } from './controller-cluster.ts'
import { eventually } from './eventually.ts'

export async function configuredNodes(cluster: ControllerCluster, names: readonly string[]) {
  const machines = new Map<string, string>()
  for (const name of names) {
    machines.set(name, await cluster.addNode(name))
    await cluster.addConfig(name, machines.get(name) ?? '')
  }
  await eventually(async () => assert.equal((await cluster.waitingPods()).length, names.length))
  for (const name of names) await cluster.finishPod(await cluster.endAgent(name))
  for (const name of names) await cluster.expectConfigured(name)

  const setReady = (name: string, ready: 'True' | 'Unknown') =>
    cluster.setNode(name, { systemUUID: machines.get(name), bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' }, ready)

  /** Nodes whose agent has not ended. */
  const changing = async () => (await cluster.waitingPods()).map(pod => inputOf(pod).nodeName).toSorted()

  /** The agent of a node starts, and its node vanishes. */
  async function lose(name: string): Promise<void> {
    const [pod] = (await cluster.podsOn(name)).filter(({ status }) => status?.phase !== 'Succeeded')
    assert.ok(pod, `no agent on ${name}`)
    const agent = { name: 'agent', restartCount: 0, ready: true, image: '', imageID: '', state: { running: {} } }
    const status = { phase: 'Running', containerStatuses: [agent] }
    await cluster.kube.patchStatus(pods, { namespace: cluster.namespace, name: pod.metadata.name }, status)
    await setReady(name, 'Unknown')
  }

  /** The node is reachable again, and its agent ends. */
  async function comeBack(name: string): Promise<void> {
    await setReady(name, 'True')
    await cluster.finishPod(await cluster.endAgent(name))
    await cluster.expectConfigured(name)
  }
  return { setReady, changing, lose, comeBack }
}
