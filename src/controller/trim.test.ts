import assert from 'node:assert/strict'
import { test } from 'node:test'
import { aConfig, aNode as facts } from './controller.fixture.ts'
import { agentJob } from './job.ts'
import { factsOf } from './machine.ts'
import { workOf } from './plan/work.ts'
import { endingOf } from './report.ts'
import { keptConfig, keptJob, keptNode, keptPod } from './trim.ts'

const managedFields = [{ manager: 'kubelet', fieldsV1: { 'f:status': {} } }]
const metadata = { name: 'w1', uid: 'u1', resourceVersion: '7', managedFields }

test('a config is kept without what kubectl and the server note for themselves', () => {
  const config = aConfig({ metadata: { annotations: { 'multinic.io/paused': 'true' } } })
  const copy = { 'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify(config) }
  const noted = { ...config.metadata, managedFields, annotations: { ...config.metadata.annotations, ...copy } }
  assert.deepEqual(keptConfig({ ...config, metadata: noted }), config)
})

test('a Node is kept as far as it tells which machine it is and how it is', () => {
  const node = {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { ...metadata, labels: { 'multinic.io/backend': 'ifcfg', zone: 'z' } },
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
  const kept = keptNode(node)
  assert.deepEqual(factsOf(kept), factsOf(node))
  assert.doesNotMatch(JSON.stringify(kept), /managedFields|images|zone|MemoryPressure|Hostname/)
})

test('a Job is kept without its Pod, and says of itself what it said', () => {
  const config = aConfig()
  const { interfaces, specHash } = workOf(config)
  const request = { config, node: facts(), interfaces, specHash, action: 'apply', attempt: 1, takesSlot: true } as const
  const settings = { image: 'i', pullPolicy: 'Never', serviceAccount: 's', pullSecrets: [], environment: {} } as const
  const job = agentJob(request, { ...settings, pullSecrets: [], jobTtlSeconds: 600 })
  const kept = keptJob(job)
  assert.deepEqual([kept.metadata.labels, kept.metadata.annotations], [job.metadata.labels, job.metadata.annotations])
  assert.deepEqual(kept.spec, { template: { spec: { nodeName: 'w1', containers: [] } } })
})

test('a Pod is kept with its end and its Job', () => {
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
  const kept = keptPod(pod)
  assert.deepEqual(endingOf(kept), endingOf(pod))
  assert.deepEqual(kept.metadata.ownerReferences, [owner])
  assert.doesNotMatch(JSON.stringify(kept), /managedFields|hostNetwork|podIP/)
})
