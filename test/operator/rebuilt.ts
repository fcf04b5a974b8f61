/**
 * A management cluster that is built again from nothing: another Kubernetes API without objects, another Viola, another
 * inventory. The Biz cluster and the cloud stay.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { installDefinitions, installEncryptKey } from '../../sandbox/lifecycle/install.ts'
import {
  type OpenstackConfig,
  openstackConfigFinalizer,
  openstackConfigs,
} from '../../src/contract/openstack-config.ts'
import { startInventory } from '../../src/inventory/main.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { silent } from '../../src/telemetry/log.ts'
import { runViola } from '../../src/viola/main.ts'
import { startSandboxCluster } from '../support/sandbox-cluster.ts'
import { clusterId, type OperatorEnvironment } from './environment.ts'

export interface RebuiltManagement {
  kube: KubeClient
  /** As kubectl does with a file. */
  apply(...files: readonly OpenstackConfig[]): Promise<void>
  /** Resolves to its address. */
  startViola(address?: string): Promise<string>
  startOperator(violaUrl: string): Promise<() => Promise<void>>
  config(name?: string): Promise<OpenstackConfig>
  /** The names of the nodes that the inventory has. */
  recordedNodes(): Promise<string[]>
  [Symbol.asyncDispose](): Promise<void>
}

export async function rebuildManagement(environment: OperatorEnvironment): Promise<RebuiltManagement> {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'multinic-rebuilt-'))
  stack.defer(() => rm(dir, { recursive: true }))
  const { caller } = environment
  const { api, kube, close } = await startSandboxCluster(dir, 'rebuilt')
  stack.defer(close)
  await installDefinitions(kube)
  await installEncryptKey(kube, environment.cloudState)
  const routing = join(dir, 'routing.yaml')
  const targets = [{ providerId: clusterId, namespace, kubeconfig: environment.api.kubeconfig }]
  await writeFile(routing, stringify({ strict: true, targets }), { mode: 0o600 })
  const inventory = await startInventory({
    env: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: caller.tokensFile,
      KUBECONFIG: api.kubeconfig,
    },
    log: silent,
  })
  stack.defer(inventory.close)
  const started = stack.move()

  return {
    kube,
    async apply(...files) {
      for (const file of files) await kube.apply(openstackConfigs, file, { fieldManager: 'kubectl', force: true })
    },
    async startViola(address = '127.0.0.1:0') {
      const stop = new AbortController()
      const listening = Promise.withResolvers<string>()
      const runs = runViola({
        env: {
          LISTEN_ADDR: address,
          KUBECONFIG: api.kubeconfig,
          ROUTING_CONFIG: routing,
          VIOLA_TOKENS_FILE: caller.tokensFile,
        },
        log: silent,
        signal: stop.signal,
        onListen: listening.resolve,
      })
      runs.catch(listening.reject)
      started.defer(async () => {
        stop.abort()
        await runs
      })
      return listening.promise
    },
    startOperator: violaUrl =>
      environment.startOperator({
        KUBECONFIG: api.kubeconfig,
        VIOLA_ENDPOINT: violaUrl,
        INVENTORY_URL: inventory.url,
        INVENTORY_TOKEN_FILE: caller.tokenFile,
      }),
    async config(name = 'main') {
      const found = await kube.get(openstackConfigs, { namespace, name })
      if (!found) throw new Error(`OpenstackConfig ${name} not found`)
      return found
    },
    async recordedNodes() {
      const headers = { authorization: `Bearer ${caller.token}` }
      const answer = await fetch(`${inventory.url}/v1/inventory/node-configs?limit=5000`, { headers })
      const records = (await answer.json()) as { nodeName: string }[]
      return records.map(({ nodeName }) => nodeName)
    },
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

/** The object as the backup of the guide has it: without what only the old cluster can use. */
export function fileOf({ apiVersion, kind, metadata, spec, status }: OpenstackConfig): OpenstackConfig {
  const { name, annotations } = metadata
  return {
    ...{ apiVersion, kind, spec },
    metadata: { name, namespace, finalizers: [openstackConfigFinalizer], ...(annotations && { annotations }) },
    ...(status && { status }),
  }
}

/** What each node is asked to have, and the version of the object: any write changes it. */
export async function writtenTo(environment: OperatorEnvironment): Promise<Record<string, unknown>> {
  const nodes = await environment.nodes()
  return Object.fromEntries(nodes.map(({ metadata, spec }) => [metadata.name, [metadata.resourceVersion, spec]]))
}
