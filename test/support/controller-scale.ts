/**
 * Many Nodes without kubelets, for tests and benchmarks of the controller: Nodes, configs and statuses.
 */
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { aConfig } from '../../src/controller/controller.fixture.ts'
import type { NodeObject } from '../../src/kube/types.ts'

/** A SystemUUID per round and index. */
export function uuidOf(round: number, index: number): string {
  return `6f1c2a10-00${round.toString().padStart(2, '0')}-4aaa-8bbb-${index.toString().padStart(12, '0')}`
}

export function readyNode(name: string, systemUUID: string): NodeObject {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name },
    status: {
      conditions: [{ type: 'Ready', status: 'True' }],
      addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
      nodeInfo: { systemUUID, bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' },
    },
  }
}

export function newConfig(name: string, instanceId: string, namespace: string): NodeConfig {
  const { apiVersion, kind, spec } = aConfig({ name, instanceId, nics: 1 })
  return { apiVersion, kind, metadata: { name, namespace }, spec }
}

/** A status as the controller writes it. */
export function configuredStatus({ metadata, spec }: NodeConfig): object {
  const at = new Date().toISOString().replace(/\.\d+Z$/, 'Z')
  const condition = {
    reason: 'AllInterfacesConfigured',
    message: '1 interface configured successfully',
    lastTransitionTime: at,
  }
  return {
    observedGeneration: metadata.generation,
    observedSpecHash: 'unchanged',
    lastProcessed: at,
    lastJobName: `multinic-agent-${metadata.name}-g1-00000000`,
    state: 'Configured',
    nics: '1/1',
    conditions: ['Ready', 'Progressing', 'Degraded'].map(type => ({
      ...{ type, status: type === 'Ready' ? 'True' : 'False', ...condition, observedGeneration: metadata.generation },
    })),
    interfaceStatuses: spec.interfaces.map(({ id, name, macAddress, portId }) => ({
      ...{
        id,
        name,
        macAddress,
        portId,
        status: 'Configured',
        reason: 'Configured',
        lastConfigured: at,
        lastChecked: at,
      },
      observed: { name, mtu: 1450, addresses: ['192.168.0.10/24'], link: 'up' },
    })),
    failedAttempts: 0,
    bootID: 'boot-1',
  }
}

/** The default number of workers of the controller. */
export const parallel = 16

/** Starts in order, with a limit. */
export async function forEachParallel<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
): Promise<R[]> {
  const results: R[] = []
  const waiting = items.entries()
  const worker = async () => {
    for (const [index, item] of waiting) results[index] = await work(item, index)
  }
  await Promise.all(Array.from({ length: parallel }, worker))
  return results
}
