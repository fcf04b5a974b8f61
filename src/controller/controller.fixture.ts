/**
 * Builders for tests: a config, a node, a Job, a report; everything that a case does not speak of is as usual.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import { completeInterfaces, specHash } from '../contract/interfaces.ts'
import type { NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import type { AgentJob, NodeFacts, Observed } from './plan/observed.ts'

export const machine = '6f1c2a10-0001-4aaa-8bbb-000000000001'
export const start = Date.parse('2026-01-01T00:00:00Z')

export interface GivenConfig {
  name?: string
  nodeName?: string
  generation?: number
  nics?: number
  instanceId?: string
  metadata?: Partial<NodeConfig['metadata']>
  status?: NodeConfigStatus
}

export function aConfig(given: GivenConfig = {}): NodeConfig {
  const { name = 'w1', nodeName = name, generation = 3, nics = 2, instanceId = machine, metadata, status } = given
  return {
    apiVersion: 'multinic.io/v1',
    kind: 'MultiNicNodeConfig',
    metadata: {
      name,
      namespace: 'multinic-system',
      uid: `uid-of-${name}`,
      generation,
      resourceVersion: '10',
      creationTimestamp: '2025-12-01T00:00:00Z',
      ...metadata,
    },
    spec: {
      nodeName,
      ...(instanceId && { instanceId }),
      interfaces: Array.from({ length: nics }, (_, id) => ({
        id,
        name: `multinic${id}`,
        macAddress: `fa:16:3e:00:00:0${id}`,
        address: `192.168.${id}.10`,
        cidr: `192.168.${id}.0/24`,
        mtu: 1450,
        portId: `port-${id}`,
      })),
    },
    ...(status && { status }),
  }
}

export function aNode(given: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: 'w1',
    systemUUID: machine,
    bootID: 'boot-1',
    heard: true,
    addresses: ['10.0.0.11'],
    backend: 'netplan',
    ...given,
  }
}

export function hashFor({ spec }: NodeConfig): string {
  const { interfaces } = completeInterfaces(spec.interfaces)
  return specHash({ nodeName: spec.nodeName, instanceId: spec.instanceId, interfaces })
}

export function aReport(config: NodeConfig, given: Partial<AgentReport> = {}): AgentReport {
  return {
    version: 1,
    node: config.spec.nodeName,
    mode: 'apply',
    generation: config.metadata.generation ?? 0,
    specHash: hashFor(config),
    verdict: 'Configured',
    reason: 'Configured',
    message: '',
    interfaces: completeInterfaces(config.spec.interfaces).interfaces.map(({ index: id }) => aNic(id)),
    changed: 4,
    removed: [],
    undone: [],
    timings: {},
    ...given,
  }
}

export function aNic(id: number, given: Partial<InterfaceReport> = {}): InterfaceReport {
  return {
    id,
    name: `multinic${id}`,
    macAddress: `fa:16:3e:00:00:0${id}`,
    portId: `port-${id}`,
    status: 'Configured',
    reason: 'Configured',
    observed: { name: `multinic${id}`, mtu: 1450, addresses: [`192.168.${id}.10/24`], link: 'up' },
    ...given,
  }
}

export function aJob(config: NodeConfig, given: Partial<AgentJob> = {}): AgentJob {
  return {
    name: 'multinic-agent-w1-g3-job',
    uid: 'job-uid',
    action: 'apply',
    configUid: config.metadata.uid ?? '',
    generation: config.metadata.generation ?? 0,
    specHash: hashFor(config),
    bootID: 'boot-1',
    attempt: 0,
    podUids: [],
    createdAt: start - 5_000,
    phase: 'running',
    ...given,
  }
}

export function anEndedJob(config: NodeConfig, report: Partial<AgentReport> = {}, given: Partial<AgentJob> = {}) {
  const told = aReport(config, report)
  return aJob(config, { phase: 'ended', endedAt: start - 1_000, result: { report: told }, ...given })
}

/** A `node` that is given as undefined is not there. */
export type Given = Omit<Partial<Observed>, 'node'> & { node?: NodeFacts | undefined }

export function seen(given: Given = {}): Observed {
  const { node = 'node' in given ? undefined : aNode(), ...rest } = given
  return {
    config: aConfig(),
    now: start,
    ...(node && { node }),
    twins: [],
    jobs: [],
    rollout: { room: true, because: '' },
    policy: { drift: { policy: 'report' }, cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
    ...rest,
  }
}
