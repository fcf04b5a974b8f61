/**
 * Test builders: a config, a node, a Job, a report. Every value has a default.
 */
import type { AgentReport, InterfaceReport } from '../contract/agent-report.ts'
import { completeInterfaces, specHash } from '../contract/interfaces.ts'
import type { NodeConfig, NodeConfigStatus } from '../contract/node-config.ts'
import type { AgentJob, NodeFacts, Observed } from './plan/observed.ts'

export const machine = '6f1c2a10-0001-4aaa-8bbb-000000000001'
export const start = Date.parse('2026-01-01T00:00:00Z')

export interface ConfigValues {
  name?: string
  nodeName?: string
  generation?: number
  nics?: number
  /** Of the interfaces with these positions. */
  aliases?: readonly string[]
  instanceId?: string
  metadata?: Partial<NodeConfig['metadata']>
  status?: NodeConfigStatus
}

export function aConfig(values: ConfigValues = {}): NodeConfig {
  const { name = 'w1', nodeName = name, generation = 3, nics = 2, instanceId = machine, metadata, status } = values
  const { aliases = [] } = values
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
        ...(aliases[id] && { alias: aliases[id] }),
      })),
    },
    ...(status && { status }),
  }
}

export function aNode(values: Partial<NodeFacts> = {}): NodeFacts {
  return {
    name: 'w1',
    systemUUID: machine,
    bootID: 'boot-1',
    reachable: true,
    internalIPs: ['10.0.0.11'],
    addresses: ['10.0.0.11'],
    podCIDRs: ['10.244.1.0/24'],
    backend: 'netplan',
    ...values,
  }
}

export function hashFor({ spec }: NodeConfig): string {
  const { interfaces } = completeInterfaces(spec.interfaces)
  return specHash({ nodeName: spec.nodeName, instanceId: spec.instanceId, interfaces })
}

export function aReport(config: NodeConfig, values: Partial<AgentReport> = {}): AgentReport {
  return {
    version: 1,
    node: config.spec.nodeName,
    mode: 'apply',
    generation: config.metadata.generation ?? 0,
    specHash: hashFor(config),
    verdict: 'Configured',
    reason: 'Configured',
    message: '',
    interfaces: completeInterfaces(config.spec.interfaces).interfaces.map(({ index }) => aNic(index)),
    changed: 4,
    removed: [],
    undone: [],
    timings: {},
    ...values,
  }
}

export function aNic(index: number, values: Partial<InterfaceReport> = {}): InterfaceReport {
  return {
    id: index,
    name: `multinic${index}`,
    macAddress: `fa:16:3e:00:00:0${index}`,
    portId: `port-${index}`,
    status: 'Configured',
    reason: 'Configured',
    observed: { name: `multinic${index}`, mtu: 1450, addresses: [`192.168.${index}.10/24`], link: 'up' },
    ...values,
  }
}

export function aJob(config: NodeConfig, values: Partial<AgentJob> = {}): AgentJob {
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
    ...values,
  }
}

export function anEndedJob(config: NodeConfig, report: Partial<AgentReport> = {}, values: Partial<AgentJob> = {}) {
  const result = { report: aReport(config, report) }
  return aJob(config, { phase: 'ended', endedAt: start - 1_000, result, ...values })
}

/** With `node: undefined` there is no node. */
export type ObservedValues = Omit<Partial<Observed>, 'node'> & { node?: NodeFacts | undefined }

export function observedWith(values: ObservedValues = {}): Observed {
  const { node = 'node' in values ? undefined : aNode(), ...rest } = values
  return {
    config: aConfig(),
    now: start,
    ...(node && { node }),
    duplicates: [],
    jobs: [],
    rollout: { available: true, message: '' },
    cleanupSlot: { available: true, message: '' },
    definition: 'served',
    policy: { drift: 'report', cleanupTimeoutMs: 600_000, jobTtlMs: 600_000 },
    ...rest,
  }
}
