/**
 * A fleet to soak: the sandbox's cloud and its two Kubernetes APIs in this process, our parts as processes, Nodes without
 * kubelets whose agents are played.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'
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
import { agentImage, freeAddresses, sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
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
import { inputOf } from '../support/controller-cluster.ts'
import { forEachParallel, readyNode } from '../support/controller-scale.ts'
import { startFakeAgents } from '../support/fake-agents.ts'
import { indexesOf } from '../support/random.ts'
import { type SandboxCluster, startSandboxCluster } from '../support/sandbox-cluster.ts'
import type { PartName } from './names.ts'
import { buildParts, type SoakPart, startPart } from './parts.ts'

export interface StageOptions {
  seed: number
  nodes: number
  /** How long ended Jobs stay. */
  jobTtlSeconds: number
  pollSeconds: number
}

/** VMs of one OpenstackConfig, with a network of their own. */
export interface Group {
  name: string
  subnet: Subnet
  vms: Server[]
}

export interface SoakStage {
  world: CloudState
  cloud: Cloud
  management: SandboxCluster
  biz: SandboxCluster
  parts: Record<PartName, SoakPart>
  groups: Group[]
  vms: Server[]
  /** A subnet that every group takes ports of. */
  shared: Subnet
  /** Of the inventory, as SQLite keeps it. */
  database: string
  makeConfig(group: Group, vms: readonly Server[]): Promise<void>
  attach(vm: Server, subnet: Subnet): void
  close(): Promise<void>
}

export const groupCount = 10
export const portsAtFirst = 2
/** Of the agents, the first time that they run for a spec. */
const failingShare = 0.05

export async function startSoakStage(options: StageOptions): Promise<SoakStage> {
  const dir = await mkdtemp(join(tmpdir(), 'multinic-soak-'))
  const ends: (() => Promise<unknown>)[] = [() => rm(dir, { recursive: true, force: true })]
  const close = async () => {
    for (const end of ends.splice(0).toReversed()) await end()
  }
  try {
    const world = createCloudState()
    const cloud = await startCloud(world, silent)
    ends.push(() => cloud.close())
    const cluster = async (name: string): Promise<SandboxCluster> => {
      const started = await startSandboxCluster(dir, name)
      ends.push(started.close)
      await installDefinitions(started.kube)
      return started
    }
    const [management, biz] = [await cluster('management'), await cluster('biz')]
    await installEncryptKey(management.kube, world)

    const attach = (server: Server, subnet: Subnet) => {
      addPort(world, { server, subnet }).status = 'ACTIVE'
    }
    const { groups, shared } = layOut(world, options.nodes, attach)
    const vms = groups.flatMap(group => group.vms)
    await forEachParallel(vms, ({ id, name }) => biz.kube.create(nodes, readyNode(name, id)))

    const agents = await startFakeAgents(biz.kube, namespace, { report: reportsOf(options.seed) })
    ends.push(() => agents.stop())
    const program = await buildParts(dir)
    const plans = await planParts(dir, { management, biz, cloud }, options)
    const parts = {} as Record<PartName, SoakPart>
    for (const name of ['viola', 'operator', 'controller'] as const) {
      const part = await startPart(dir, program, name, plans[name])
      ends.push(() => part.stop())
      parts[name] = part
    }

    const poll = `${options.pollSeconds}s`
    return {
      ...{ world, cloud, management, biz, parts, groups, vms, shared, attach, close },
      database: plans.operator.env['INVENTORY_DB_PATH'] ?? '',
      async makeConfig({ name, subnet }, members) {
        const vmNames = members.map(({ id }) => id)
        const subnetIDs = [subnet.id, shared.id]
        const config = openstackConfigFor(world, { name, vmNames, subnetIDs, clusterId: sandboxClusterId })
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

function layOut(world: CloudState, count: number, attach: SoakStage['attach']): Pick<SoakStage, 'groups' | 'shared'> {
  const shared = addSubnet(world, { name: 'shared', cidr: '10.100.0.0/16', mtu: 1_500 })
  const groups: Group[] = Array.from({ length: groupCount }, (_, index) => ({
    name: `group-${index}`,
    subnet: addSubnet(world, { name: `group-${index}`, cidr: `10.${index}.0.0/16`, mtu: 1_500 }),
    vms: [],
  }))
  for (let index = 0; index < count; index++) {
    const group = groups[index % groupCount]
    if (!group) continue
    const vm = addServer(world, `node-${String(index + 1).padStart(4, '0')}`)
    group.vms.push(vm)
    for (const subnet of [group.subnet, shared].slice(0, portsAtFirst)) attach(vm, subnet)
  }
  return { groups, shared }
}

type Around = Pick<SoakStage, 'management' | 'biz' | 'cloud'>

async function planParts(dir: string, { management, biz, cloud }: Around, { jobTtlSeconds }: StageOptions) {
  const [operator = '', inventory = '', viola = '', controller = ''] = await freeAddresses(4)
  const routing = join(dir, 'viola-routing.yaml')
  const target = { providerId: sandboxClusterId, namespace, kubeconfig: biz.api.kubeconfig }
  await writeFile(routing, stringify({ strict: true, targets: [target] }), { mode: 0o600 })
  return {
    viola: { address: viola, env: { LISTEN_ADDR: viola, ROUTING_CONFIG: routing } },
    operator: {
      address: operator,
      env: {
        KUBECONFIG: management.api.kubeconfig,
        POD_NAMESPACE: namespace,
        OPERATOR_ADDR: operator,
        INVENTORY_ADDR: inventory,
        INVENTORY_DB_PATH: join(dir, 'inventory.db'),
        CONTRABASS_ENDPOINT: cloud.urls.contrabass,
        VIOLA_ENDPOINT: `http://${viola}`,
      } as Record<string, string>,
    },
    controller: {
      address: controller,
      env: {
        KUBECONFIG: biz.api.kubeconfig,
        CONTROLLER_NAMESPACE: namespace,
        AGENT_IMAGE: agentImage,
        HEALTH_ADDR: controller,
        JOB_TTL: `${jobTtlSeconds}s`,
      },
    },
  }
}

/** What each agent says: all is well, but for a share that fails once and is well the next time. */
function reportsOf(seed: number): (pod: PodObject) => Partial<AgentReport> {
  const random = indexesOf(seed)
  const failed = new Set<string>()
  return pod => {
    const { nodeName, mode, interfaces } = inputOf(pod)
    const again = failed.delete(nodeName)
    const fails = mode === 'apply' && !again && random() < failingShare
    if (fails) failed.add(nodeName)
    const said = fails
      ? ({ status: 'Failed', reason: 'ApplyFailed' } as const)
      : ({ status: 'Configured', reason: 'Configured' } as const)
    return {
      ...(fails && { verdict: 'Failed', reason: 'ApplyFailed', message: 'the soak has this agent fail once' }),
      interfaces:
        mode === 'cleanup'
          ? []
          : interfaces.map(({ id = 0, name = `multinic${id}`, macAddress, portId, mtu, address }) => ({
              ...{ id, name, macAddress, ...(portId && { portId }), ...said },
              observed: { name, mtu, addresses: [`${address}/16`], link: 'up' },
            })),
    }
  }
}
