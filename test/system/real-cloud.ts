/**
 * Our operator and Viola as processes, the Kubernetes API of the sandbox as management and Biz cluster, and a Contrabass that
 * points to a real Keystone. There are no nodes: the chain ends with the node configs in the Biz cluster.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { contrabassInternalError, createContrabass } from '../../sandbox/cloud/contrabass.ts'
import { startHttpServer } from '../../sandbox/cloud/http-server.ts'
import { createCloudState } from '../../sandbox/cloud/state.ts'
import { ensureBundles } from '../../sandbox/lifecycle/bundles.ts'
import { sandboxNamespace as namespace, programCommand } from '../../sandbox/lifecycle/components.ts'
import {
  createConfig,
  installDefinitions,
  installEncryptKey,
  openstackConfigFor,
} from '../../sandbox/lifecycle/install.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import { type OpenstackConfig, openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { isConflict } from '../../src/kube/errors.ts'
import { secrets } from '../../src/kube/resources.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { OpenStack } from '../rigs/openstack/rig.ts'
import { type Daemon, startDaemon } from '../rigs/process.ts'
import { adminCaller } from '../support/access.ts'
import { eventually } from '../support/eventually.ts'
import { startSandboxCluster } from '../support/sandbox-cluster.ts'

type Spec = OpenstackConfig['spec']
/** Fields that differ from an object without servers and subnets. */
export type SpecInput = Partial<Omit<Spec, 'credentials'>> & { credentials?: Partial<Spec['credentials']> }

export interface RealCloudSystem {
  /** The account of the operator. */
  account: { user: string; password: string }
  create(name: string, spec: SpecInput): Promise<void>
  /** Writes a Secret beside the objects. */
  writeSecret(name: string, data: Record<string, string>): Promise<void>
  change(name: string, change: (config: OpenstackConfig) => void): Promise<void>
  config(name?: string): Promise<OpenstackConfig>
  nodes(): Promise<NodeConfig[]>
  /** Waits for an assertion. The error contains the end of the operator's log. */
  eventually(check: () => Promise<void>): Promise<void>
  /** Runs the work while the operator is stopped. */
  withoutOperator(work: () => Promise<void>): Promise<void>
  /** Reports all nodes as configured, and waits until the object shows it. */
  reportConfigured(name: string): Promise<void>
  /** Waits for a number of further syncs, successful or not. */
  waitForSyncs(count: number): Promise<void>
  stop(): Promise<void>
}

const clusterId = 'biz-1'
/** Fixed ports: the test has its own network namespace. */
const addresses = { viola: '127.0.0.1:8080', operator: '127.0.0.1:8081' }
const within = 90_000

export interface Cluster {
  kubeconfig: string
  kube: KubeClient
}

export interface RealCloudOptions {
  /** One cluster for management and Biz. Default: two simulated clusters. */
  cluster?: Cluster
  /** Additional environment of the operator. */
  operator?: Record<string, string>
  /** Additional environment of both components. */
  env?: Record<string, string>
}

export async function startRealCloudSystem(cloud: OpenStack, options: RealCloudOptions = {}): Promise<RealCloudSystem> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-system-'))
  const ends: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })]
  const end = async () => {
    for (const close of ends.toReversed()) await close()
  }
  try {
    const account = await cloud.createUser('multinic-operator', ['admin'])
    const cloudState = { ...createCloudState(), project: { id: cloud.projectId, name: 'multinic' } }
    cloudState.user = { ...cloudState.user, name: account.user, password: account.password, domain: 'Default' }
    const contrabass = await startHttpServer({
      service: 'contrabass',
      cloudState,
      handler: createContrabass({ ...cloudState, bus: busOf(cloud) }, () => cloud.keystoneUrl),
      internalError: contrabassInternalError,
      log: silent,
    })
    ends.push(() => contrabass.close())
    const ownCluster = async (name: string): Promise<Cluster> => {
      const { api, kube, close } = await startSandboxCluster(dir, name)
      ends.push(close)
      return { kubeconfig: api.kubeconfig, kube }
    }
    const management = options.cluster ?? (await ownCluster('management'))
    const biz = options.cluster ?? (await ownCluster('biz'))
    for (const { kube } of new Set([management, biz])) await installDefinitions(kube)
    await installEncryptKey(management.kube, cloudState)
    const routing = join(dir, 'viola-routing.yaml')
    const target = { providerId: clusterId, namespace, kubeconfig: biz.kubeconfig }
    await writeFile(routing, stringify({ strict: true, targets: [target] }), { mode: 0o600 })
    const { program: bundle } = await ensureBundles()
    const start = (component: 'viola' | 'operator', env: Record<string, string>): Daemon => {
      const { command, env: standard } = programCommand(bundle, component)
      const [program = '', ...args] = command
      const daemon = startDaemon(program, args, {
        log: join(dir, `${component}.log`),
        env: { ...standard, ...env, ...options.env },
      })
      ends.push(() => daemon.stop())
      return daemon
    }
    const caller = await adminCaller(dir)
    start('viola', {
      LISTEN_ADDR: addresses.viola,
      ROUTING_CONFIG: routing,
      KUBECONFIG: management.kubeconfig,
      VIOLA_TOKENS_FILE: caller.tokensFile,
    })
    const startOperator = () =>
      start('operator', {
        KUBECONFIG: management.kubeconfig,
        POD_NAMESPACE: namespace,
        OPERATOR_ADDR: addresses.operator,
        INVENTORY_ENABLED: 'false',
        CONTRABASS_ENDPOINT: contrabass.url,
        VIOLA_ENDPOINT: `http://${addresses.viola}`,
        VIOLA_TOKEN_FILE: caller.tokenFile,
        ...options.operator,
      })

    let operator = startOperator()

    const config = async (name = 'main') => {
      const found = await management.kube.get(openstackConfigs, { namespace, name })
      return found ?? assert.fail(`OpenstackConfig ${name} not found`)
    }
    return {
      account,
      config,
      async create(name, spec) {
        const standard = openstackConfigFor(cloudState, { name, vmNames: [], subnetIDs: [], clusterId })
        const { settings = {}, credentials, ...rest } = spec
        await createConfig(management.kube, {
          ...standard,
          spec: {
            ...standard.spec,
            ...rest,
            credentials: rest.cloudSecretRef
              ? { k8sProviderID: clusterId }
              : { ...standard.spec.credentials, ...credentials },
            settings: { ...standard.spec.settings, ...settings },
          },
        })
      },
      async writeSecret(name, data) {
        const stringData = Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString('base64')])
        const secret = { metadata: { name, namespace }, type: 'Opaque', data: Object.fromEntries(stringData) }
        await management.kube.apply(secrets, secret, { fieldManager: 'test', force: true })
      },
      async change(name, change) {
        // The operator writes to the same object: on a conflict, edit the newer version.
        for (let written = false; !written; ) {
          const current = structuredClone(await config(name))
          change(current)
          written = await management.kube.replace(openstackConfigs, current).then(
            () => true,
            error => {
              if (!isConflict(error)) throw error
              return false
            },
          )
        }
      },
      nodes: async () => (await biz.kube.list(nodeConfigs, { namespace })).items,
      async eventually(check) {
        try {
          await eventually(check, { within, every: 200 })
        } catch (error) {
          throw new Error(`the assertion failed; end of the operator's log:\n${await operator.tail()}`, {
            cause: error,
          })
        }
      },
      async withoutOperator(work) {
        await operator.stop()
        await work()
        operator = startOperator()
      },
      async reportConfigured(name) {
        await eventually(
          async () => {
            const { items } = await biz.kube.list(nodeConfigs, { namespace })
            for (const { metadata, status } of items) {
              if (status?.observedGeneration === metadata.generation) continue
              const now = { state: 'Configured', observedGeneration: metadata.generation } as const
              await biz.kube.patchStatus(nodeConfigs, { namespace, name: metadata.name }, now)
            }
            const own = items.filter(({ spec }) => spec.interfaces.some(nic => nic.source === `${namespace}/${name}`))
            const { nodes } = (await config(name)).status ?? {}
            assert.deepEqual([nodes?.total, nodes?.configured], [own.length, own.length])
          },
          { within, every: 200 },
        )
      },
      async waitForSyncs(count) {
        let last = ''
        for (let seen = 0; seen <= count; seen++)
          await eventually(
            async () => {
              const { nextSyncAt = '' } = (await config()).status ?? {}
              assert.notEqual(nextSyncAt, last)
              last = nextSyncAt
            },
            { within, every: 100 },
          )
      },
      stop: end,
    }
  } catch (error) {
    await end()
    throw error
  }
}

function busOf({ rabbit }: OpenStack): { urls: string[]; user: string; password: string } {
  return { urls: [`amqp://${rabbit.host}:${rabbit.port}/`], user: rabbit.user, password: rabbit.password }
}
