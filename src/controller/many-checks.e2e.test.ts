/**
 * 5,000 configured nodes whose check for drift is due at the same moment, with the default settings. The API server of the
 * sandbox counts requests; the nodes have no kubelets, and fake agents end the Jobs.
 */
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { IncomingMessage } from 'node:http'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type ControllerCluster, startControllerCluster } from '../../test/support/controller-cluster.ts'
import { configuredStatus, forEachParallel, newConfig, readyNode, uuidOf } from '../../test/support/controller-scale.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startFakeAgents } from '../../test/support/fake-agents.ts'
import { nodeConfigFinalizer, nodeConfigs } from '../contract/node-config.ts'
import { connectKube, type KubeClient } from '../kube/client.ts'
import { loadKubeconfig } from '../kube/config.ts'
import { nodes } from '../kube/resources.ts'

const [count, seconds] = [5_000, 60]
const namespace = 'multinic-system'
/** Between the starts of two checks. */
const gapSeconds = 5
/** Long enough ago for a check of every node. */
const lastProcessed = new Date(Date.now() - 48 * 3_600_000).toISOString().replace(/\.\d+Z$/, 'Z')

let cluster: ControllerCluster
let kube: KubeClient

before(async () => {
  cluster = await startControllerCluster(namespace)
  kube = connectKube(await loadKubeconfig(cluster.api.kubeconfig))
  const names = Array.from({ length: count }, (_, index) => `n${index}`)
  await forEachParallel(names, async (name, index) => {
    const [systemUUID, metadata] = [uuidOf(1, index), { name, namespace, finalizers: [nodeConfigFinalizer] }]
    await kube.create(nodes, readyNode(name, systemUUID))
    const config = await kube.create(nodeConfigs, { ...newConfig(name, systemUUID, namespace), metadata })
    await kube.patchStatus(nodeConfigs, { namespace, name }, { ...configuredStatus(config), lastProcessed })
  })
})
after(async () => {
  await kube?.close()
  await cluster?.close()
})

/** Requests that the API server got, without watches and those of the fake agents. */
function countRequests() {
  const seen: string[] = []
  const note = (message: unknown) => {
    const { method, url = '' } = (message as { request: IncomingMessage }).request
    if (!/[?&]watch=/.test(url) && !/\/pods\/[^/]+\/status/.test(url)) seen.push(`${method} ${url}`)
  }
  subscribe('http.server.request.start', note)
  return { seen, end: () => void unsubscribe('http.server.request.start', note) }
}

test('5,000 nodes whose checks are due at once cost one Job in five seconds, and few requests', {
  timeout: 600_000,
}, async t => {
  const agents = await startFakeAgents(kube, namespace, {
    report: () => ({ verdict: 'InSync', reason: 'InSync', changed: 0 }),
  })
  const controller = await cluster.startController()
  try {
    await eventually(() => assert.ok(agents.seen().length > 0), { within: 120_000 })
    const [before, requests] = [agents.seen().length, countRequests()]
    await sleep(seconds * 1_000)
    requests.end()
    const jobs = agents.seen().length - before
    t.diagnostic(`${jobs} Jobs and ${requests.seen.length} requests in ${seconds} s`)
    assert.ok(jobs >= 3 && jobs <= seconds / gapSeconds + 1, `${jobs} Jobs`)
    assert.ok(requests.seen.length / seconds <= 5, requests.seen.join('\n'))
    const checked = (await kube.list(nodeConfigs, { namespace })).items.filter(
      ({ status }) => status?.lastProcessed !== lastProcessed,
    )
    assert.ok(checked.length > 0 && checked.length <= agents.seen().length, `${checked.length} checked`)
    assert.ok(checked.every(({ status }) => status?.state === 'Configured'))
  } finally {
    await controller.stop()
    await agents.stop()
  }
})
