/**
 * A test environment for the operator: the sandbox's Kubernetes API and cloud, Viola and the operator, all in one process
 * and over real HTTP. The test replaces the nodes: it writes the status of node configs.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import { type CloudState, createCloudState } from '../../sandbox/cloud/state.ts'
import { type KubeApi, startKubeApi } from '../../sandbox/kube/server.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { installDefinitions, installEncryptKey, openstackConfigFor } from '../../sandbox/lifecycle/install.ts'
import type { AuditWrite } from '../../src/contract/audit.ts'
import type { InventoryWrite } from '../../src/contract/inventory.ts'
import { type NodeConfig, type NodeConfigStatus, nodeConfigs } from '../../src/contract/node-config.ts'
import { type OpenstackConfig, openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { VerdictWrite } from '../../src/contract/operator-api.ts'
import type { Settings } from '../../src/contract/settings.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { namespaces } from '../../src/kube/resources.ts'
import type { OperatorApiDeps } from '../../src/operator/app.ts'
import { type OperatorOptions, runOperator } from '../../src/operator/main.ts'
import { createLog, type Log, silent } from '../../src/telemetry/log.ts'
import { runViola } from '../../src/viola/main.ts'
import { adminCaller, type TestCaller } from '../support/access.ts'

export const clusterId = 'biz-1'
/** Its node configs are in another namespace. */
export const otherClusterId = 'biz-2'

export interface OperatorEnvironment {
  cloudState: CloudState
  cloud: Cloud
  api: KubeApi
  kube: KubeClient
  violaUrl: string
  /** Of the last operator that was started. */
  operatorUrl(): string
  /** Of the same operator. */
  apiDeps(): OperatorApiDeps | undefined
  caller: TestCaller
  /** All writes to the inventory, in order. */
  records: InventoryWrite[]
  verdicts: VerdictWrite[]
  audit: AuditWrite[]
  /** Names `clusterId` in the routing file of Viola. */
  nameProvider(name?: string): Promise<void>
  startOperator(
    env?: Record<string, string>,
    options?: Pick<OperatorOptions, 'maxSyncMs' | 'workers'>,
  ): Promise<() => Promise<void>>
  create(
    config: Partial<OpenstackConfig['spec']> & { name?: string; namespace?: string; settings?: Settings },
  ): Promise<OpenstackConfig>
  config(name?: string, namespace?: string): Promise<OpenstackConfig>
  nodes(): Promise<NodeConfig[]>
  /** One line per node: `worker-1: multinic0=10.0.0.10 multinic1=10.1.0.10`. */
  deliveredTexts(): Promise<string[]>
  report(nodeName: string, status: NodeConfigStatus): Promise<void>
  close(): Promise<void>
}

export async function startOperatorEnvironment(
  log: Log = process.argv.includes('--talk') ? createLog() : silent,
  violaEnv: Record<string, string> = {},
): Promise<OperatorEnvironment> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-operator-'))
  const cloudState = createCloudState()
  const cloud = await startCloud(cloudState, log)
  const api = await startKubeApi({ name: 'management', dir, log })
  const kube = connectKube(await loadKubeconfig(api.kubeconfig), { log })
  await installDefinitions(kube)
  await installEncryptKey(kube, cloudState)
  await kube.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other-cluster' } })
  const routing = join(dir, 'routing.yaml')
  const nameProvider = (name = '') => {
    const targets = [
      { providerId: clusterId, name, namespace, kubeconfig: api.kubeconfig },
      { providerId: otherClusterId, namespace: 'other-cluster', kubeconfig: api.kubeconfig },
    ]
    return writeFile(routing, stringify({ strict: true, targets }), { mode: 0o600 })
  }
  await nameProvider()
  const caller = await adminCaller(dir)
  const viola = new AbortController()
  const listening = Promise.withResolvers<string>()
  const violaRuns = runViola({
    env: {
      LISTEN_ADDR: '127.0.0.1:0',
      KUBECONFIG: api.kubeconfig,
      ROUTING_CONFIG: routing,
      VIOLA_TOKENS_FILE: caller.tokensFile,
      ...violaEnv,
    },
    log,
    signal: viola.signal,
    onListen: listening.resolve,
  })
  violaRuns.catch(listening.reject)
  const violaUrl = await listening.promise
  const records: InventoryWrite[] = []
  const verdicts: VerdictWrite[] = []
  const audit: AuditWrite[] = []
  let operatorUrl = ''
  let apiDeps: OperatorApiDeps | undefined
  const operators = new Set<() => Promise<void>>()

  const nodes = async () => (await kube.list(nodeConfigs, { namespace })).items

  return {
    cloudState,
    cloud,
    api,
    kube,
    violaUrl,
    operatorUrl: () => operatorUrl,
    apiDeps: () => apiDeps,
    caller,
    records,
    verdicts,
    audit,
    nameProvider,
    async startOperator(env = {}, options = {}) {
      const stop = new AbortController()
      const runs = runOperator({
        ...options,
        env: {
          KUBECONFIG: api.kubeconfig,
          OPERATOR_ADDR: '127.0.0.1:0',
          POD_NAMESPACE: namespace,
          POLL_MIN_INTERVAL: '10ms',
          CONTRABASS_ENDPOINT: cloud.urls.contrabass,
          VIOLA_ENDPOINT: violaUrl,
          VIOLA_TOKEN_FILE: caller.tokenFile,
          OPERATOR_TOKENS_FILE: caller.tokensFile,
          ...env,
        },
        log,
        signal: stop.signal,
        onListen: url => {
          operatorUrl = url
        },
        onApi: deps => {
          apiDeps = deps
        },
        ...(env['INVENTORY_URL'] === undefined && {
          recorder: {
            put: async (writes: InventoryWrite[], changes: VerdictWrite[], entries: AuditWrite[]) => {
              records.push(...structuredClone(writes))
              verdicts.push(...structuredClone(changes))
              audit.push(...structuredClone(entries))
              return true
            },
            list: async () => [],
          },
        }),
      })
      const end = async () => {
        operators.delete(end)
        stop.abort()
        await runs
      }
      operators.add(end)
      return end
    },
    async create({ name = 'main', namespace: at = namespace, settings, ...spec }) {
      const subnetIDs = [...cloudState.subnets.keys()]
      const vmNames = [...cloudState.servers.keys()]
      const config = openstackConfigFor(cloudState, { name, vmNames, subnetIDs, clusterId })
      const fast: Settings = { pollFastInterval: '50ms', pollSlowInterval: '50ms', pollErrorInterval: '50ms' }
      return kube.create(openstackConfigs, {
        ...config,
        metadata: { ...config.metadata, namespace: at },
        spec: { ...config.spec, ...spec, settings: { ...config.spec.settings, ...fast, ...settings } },
      })
    },
    async config(name = 'main', at = namespace) {
      const found = await kube.get(openstackConfigs, { namespace: at, name })
      if (!found) throw new Error(`OpenstackConfig ${at}/${name} not found`)
      return found
    },
    nodes,
    async deliveredTexts() {
      return (await nodes()).map(({ spec }) =>
        [`${spec.nodeName}:`, ...spec.interfaces.map(nic => `${nic.name}=${nic.address}`)].join(' '),
      )
    },
    async report(nodeName, status) {
      await kube.patchStatus(nodeConfigs, { namespace, name: nodeName }, status)
    },
    async close() {
      // Closes everything even after a failure: a test that hangs says less than one that fails.
      const ended = await Promise.allSettled([...operators].map(end => end()))
      viola.abort()
      await Promise.allSettled([violaRuns, kube.close()])
      await Promise.allSettled([cloud.close(), api.close()])
      await rm(dir, { recursive: true, force: true })
      for (const end of ended) if (end.status === 'rejected') throw end.reason
    },
  }
}
