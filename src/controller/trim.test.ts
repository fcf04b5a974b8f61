import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, aNode as facts } from './controller.fixture.ts'
import { agentJob } from './job.ts'
import { factsOf } from './machine.ts'
import { requestedOf } from './plan/requested.ts'
import { exitOf } from './report.ts'
import { trimConfig, trimJob, trimNode, trimPod } from './trim.ts'

const managedFields = [{ manager: 'kubelet', fieldsV1: { 'f:status': {} } }]
const metadata = { name: 'w1', uid: 'u1', resourceVersion: '7', managedFields }

test('a trimmed config has no managedFields and no copy by kubectl', () => {
  const config = aConfig({ metadata: { annotations: { 'multinic.io/paused': 'true' } } })
  const copy = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(config) }
  const full = { ...config.metadata, managedFields, annotations: { ...config.metadata.annotations, ...copy } }
  assert.deepEqual(trimConfig({ ...config, metadata: full }), config)
})

test('a trimmed Node keeps the facts about its machine', () => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      ...metadata,
      labels: { 'multinic.io/backend': 'ifcfg', 'multinic.io/takeover': 'refuse', zone: 'z' },
      annotations: { 'alpha.kubernetes.io/provided-node-ip': '10.0.0.12', 'csi.volume.kubernetes.io/nodeid': 'long' },
    },
    spec: { podCIDRs: ['10.244.1.0/24'], taints: [{ key: 'tainted', effect: 'NoSchedule' }] },
    status: {
      addresses: [
        { type: 'InternalIP', address: '10.0.0.11' },
        { type: 'Hostname', address: 'w1' },
      ],
      conditions: ['Ready', 'MemoryPressure', 'MultiNicReady'].map(type => ({ type, status: 'True' })),
      nodeInfo: { systemUUID: 's', bootID: 'b', osImage: 'o', kernelVersion: 'k' },
      images: [{ names: ['long'], sizeBytes: 1 }],
    },
  }
  const trimmed = trimNode(node)
  assert.deepEqual(factsOf(trimmed), factsOf(node))
  assert.doesNotMatch(JSON.stringify(trimmed), /managedFields|images|zone|MemoryPressure|Hostname|nodeid|tainted/)
})

test('a trimmed Node keeps the labels of networks, and all taints if one of them is ours', () => {
  const node = { apiVersion: 'v1', kind: 'Node' }
  const labels = { 'network.multinic.io/storage': 'ready', zone: 'z' }
  const taints = [
    { key: 'tainted', effect: 'NoSchedule' },
    { key: 'multinic.io/not-ready', effect: 'NoSchedule' },
  ]
  const trimmed = trimNode({ ...node, metadata: { ...metadata, labels }, spec: { taints } })
  assert.deepEqual(trimmed.metadata.labels, { 'network.multinic.io/storage': 'ready' })
  assert.deepEqual(trimmed.spec?.taints, taints)
})

test('a trimmed Job keeps its labels and annotations but not its Pod template', () => {
  const config = aConfig()
  const { interfaces, specHash } = requestedOf(config)
  const request = { config, node: facts(), interfaces, specHash, action: 'apply', attempt: 1, takesSlot: true } as const
  const settings = { image: 'i', pullPolicy: 'Never', serviceAccount: 's', pullSecrets: [], environment: {} } as const
  const job = agentJob(request, { ...settings, pullSecrets: [], jobTtlSeconds: 600 })
  const trimmed = trimJob(job)
  assert.deepEqual(
    [trimmed.metadata.labels, trimmed.metadata.annotations],
    [job.metadata.labels, job.metadata.annotations],
  )
  assert.deepEqual(trimmed.spec, { template: { spec: { nodeName: 'w1', containers: [] } } })
})

test('a trimmed Pod keeps its exit and its owner', () => {
  const terminated = { exitCode: 0, message: '{}', finishedAt: '2026-01-01T00:00:00Z' }
  const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'job' }
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, ownerReferences: [owner] },
    spec: { nodeName: 'w1', hostNetwork: true, containers: [{ name: 'agent', image: 'i' }] },
    status: {
      phase: 'Running',
      podIP: '10.0.0.11',
      containerStatuses: [{ name: 'agent', image: 'i', state: { terminated } }],
    },
  }
  const trimmed = trimPod(pod)
  assert.deepEqual(exitOf(trimmed), exitOf(pod))
  assert.deepEqual(trimmed.metadata.ownerReferences, [owner])
  assert.doesNotMatch(JSON.stringify(trimmed), /managedFields|hostNetwork|podIP/)
})
