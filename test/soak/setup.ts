/**
 * The fleet of a soak: cloud and Kubernetes APIs of the sandbox in this process, the replicas of our components as processes, a
 * real PostgreSQL, and Nodes without kubelet and with fake agents.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cloud, startCloud } from '../../sandbox/cloud/cloud.ts'
import {
  addPort,
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  type Server,
  type Subnet,
  sandboxClusterId,
} from '../../sandbox/cloud/state.ts'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import {
  createConfig,
  installDefinitions,
  installEncryptKey,
  openstackConfigFor,
} from '../../sandbox/lifecycle/install.ts'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { nodes } from '../../src/kube/resources.ts'
import type { PodObject } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'
import { currentIsolation } from '../rigs/isolation.ts'
import { limitMemory } from '../rigs/memory-limit.ts'
import { inputOf } from '../support/controller-cluster.ts'
import { forEachParallel, readyNode } from '../support/controller-scale.ts'
import { startFakeAgents } from '../support/fake-agents.ts'
import { indexesOf } from '../support/random.ts'
import { type SandboxCluster, startSandboxCluster } from '../support/sandbox-cluster.ts'
import { shippedFor } from './chart.ts'
import { buildComponents, type SoakReplica, startReplica } from './components.ts'
import { type SoakDatabase, startDatabase } from './database.ts'
import { componentOf, type ReplicaName, replicaNames } from './names.ts'
import { replicaSettings } from './settings.ts'

export interface SetupOptions {
  seed: number
  nodes: number
  /** Time to live of finished Jobs. */
  jobTtlSeconds: number
  pollSeconds: number
}

/** The VMs of one OpenstackConfig, with their own network. */
export interface Group {
  name: string
  subnet: Subnet
  vms: Server[]
}

export interface SoakSetup {
  cloudState: CloudState
  cloud: Cloud
  management: SandboxCluster
  biz: SandboxCluster
  replicas: Record<ReplicaName, SoakReplica>
  database: SoakDatabase
  groups: Group[]
  vms: Server[]
  /** A subnet that all groups use. */
  shared: Subnet
  createConfig(group: Group, vms: readonly Server[]): Promise<void>
  attach(vm: Server, subnet: Subnet): void
  close(): Promise<void>
}

export const groupCount = 10
export const portsAtFirst = 2
/** Share of the agents that fail in the first run for a spec. */
const failingShare = 0.05

export async function startSoakSetup(options: SetupOptions): Promise<SoakSetup> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-soak-'))
  const ends: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })]
  const close = async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  }
  try {
    const cloudState = createCloudState()
    const cloud = await startCloud(cloudState, silent)
    ends.push(() => cloud.close())
    const cluster = async (name: string): Promise<SandboxCluster> => {
      const started = await startSandboxCluster(dir, name)
      ends.push(started.close)
      await installDefinitions(started.kube)
      return started
    }
    const [management, biz] = [await cluster('management'), await cluster('biz')]
    await installEncryptKey(management.kube, cloudState)

    const attach = (server: Server, subnet: Subnet) => {
      addPort(cloudState, { server, subnet }).status = 'ACTIVE'
    }
    const { groups, shared } = createFleet(cloudState, options.nodes, attach)
    const vms = groups.flatMap(group => group.vms)
    await forEachParallel(vms, ({ id, name }) => biz.kube.create(nodes, readyNode(name, id)))

    const agents = await startFakeAgents(biz.kube, namespace, { report: reportsOf(options.seed) })
    ends.push(() => agents.stop())
    const database = await startDatabase()
    ends.push(() => database.close())
    const program = await buildComponents(dir)
    const { jobTtlSeconds } = options
    const settings = await replicaSettings(dir, { management, biz, cloud, database, jobTtlSeconds })
    const replicas = {} as Record<ReplicaName, SoakReplica>
    const start = async (name: ReplicaName) => {
      const memory = await limitMemory(name, shippedFor(componentOf(name)).memoryMib, currentIsolation())
      ends.push(async () => memory[Symbol.asyncDispose]())
      const replica = await startReplica({ dir, program, memory }, name, settings[name])
      ends.push(() => replica.stop())
      replicas[name] = replica
    }
    for (const name of replicaNames) await start(name)

    const poll = `${options.pollSeconds}s`
    return {
      ...{ cloudState, cloud, management, biz, replicas, database, groups, vms, shared, attach, close },
      async createConfig({ name, subnet }, members) {
        const vmNames = members.map(({ id }) => id)
        const subnetIDs = [subnet.id, shared.id]
        const config = openstackConfigFor(cloudState, { name, vmNames, subnetIDs, clusterId: sandboxClusterId })
        Object.assign(config.spec.settings ?? {}, {
          pollFastInterval: poll,
          pollSlowInterval: `${4 * options.pollSeconds}s`,
          pollErrorInterval: poll,
        })
        await createConfig(management.kube, config)
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

function createFleet(
  cloudState: CloudState,
  count: number,
  attach: SoakSetup['attach'],
): Pick<SoakSetup, 'groups' | 'shared'> {
  const shared = addSubnet(cloudState, { name: 'shared', cidr: '10.100.0.0/16', mtu: 1_500 })
  const groups: Group[] = Array.from({ length: groupCount }, (_, index) => ({
    name: `group-${index}`,
    subnet: addSubnet(cloudState, { name: `group-${index}`, cidr: `10.${index}.0.0/16`, mtu: 1_500 }),
    vms: [],
  }))
  for (let index = 0; index < count; index++) {
    const group = groups[index % groupCount]
    if (!group) continue
    const vm = addServer(cloudState, `node-${String(index + 1).padStart(4, '0')}`)
    group.vms.push(vm)
    for (const subnet of [group.subnet, shared].slice(0, portsAtFirst)) attach(vm, subnet)
  }
  return { groups, shared }
}

/** Reports of the fake agents: a share fails once and succeeds in the next run. */
function reportsOf(seed: number): (pod: PodObject) => Partial<AgentReport> {
  const random = indexesOf(seed)
  const failed = new Set<string>()
  return pod => {
    const { nodeName, mode, interfaces } = inputOf(pod)
    const isRetry = failed.delete(nodeName)
    const fails = mode === 'apply' && !isRetry && random() < failingShare
    if (fails) failed.add(nodeName)
    const outcome = fails
      ? ({ status: 'Failed', reason: 'ApplyFailed' } as const)
      : ({ status: 'Configured', reason: 'Configured' } as const)
    return {
      ...(fails && { verdict: 'Failed', reason: 'ApplyFailed', message: 'this agent fails once for the soak' }),
      interfaces:
        mode === 'cleanup'
          ? []
          : interfaces.map(({ id = 0, name = `multinic${id}`, macAddress, portId, mtu, address }) => ({
              ...{ id, name, macAddress, ...(portId && { portId }), ...outcome },
              observed: { name, mtu, addresses: [`${address}/16`], link: 'up' },
            })),
    }
  }
}
