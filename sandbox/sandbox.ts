/**
 * The whole world on one machine: two Kubernetes APIs, a cloud, nodes with their kubelets in this process, and our parts as
 * processes of the real program beside it.
 */
import { readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { createInformer } from '../src/kube/informer.ts'
import { pods } from '../src/kube/resources.ts'
import type { Log } from '../src/telemetry/log.ts'
import { type AttachInput, attachBy, attachPorts, type DetachInput, detachPorts, homeSubnet } from './cloud/attach.ts'
import { type Cloud, startCloud } from './cloud/cloud.ts'
import { openBus } from './cloud/message-bus.ts'
import {
  addPort,
  addServer,
  addSubnet,
  createWorld,
  type Port,
  portsOf,
  type SubnetInput,
  sandboxClusterId,
  subnetNamed,
  type World,
} from './cloud/state.ts'
import { observeSandbox } from './control/observe.ts'
import { type HostKind, type SandboxStatus, statusOf } from './control/status.ts'
import type { FaultSwitchboard } from './faults/active-faults.ts'
import { openFaults } from './faults/injectors.ts'
import { type Built, builtParts } from './lifecycle/bundles.ts'
import { type Cluster, openClusters } from './lifecycle/clusters.ts'
import { partsOf, whenUp } from './lifecycle/components.ts'
import {
  createConfig,
  freeLeases,
  installDefinitions,
  installEncryptKey,
  openstackConfigFor,
  readDefinitions,
} from './lifecycle/install.ts'
import { isUsersOwn } from './lifecycle/rootless.ts'
import { keepWorld, resumeWorld } from './lifecycle/saved-state.ts'
import { type StateDir, writeDown } from './lifecycle/state-dir.ts'
import { type Supervisor, supervise } from './lifecycle/supervisor.ts'
import { file } from './nodes/container.ts'
import { createFabric, type Fabric } from './nodes/fabric.ts'
import { type Kubelet, startKubelet } from './nodes/kubelet.ts'
import { type Machine, namespaceMachine } from './nodes/machine.ts'
import { createNode, type SandboxNode } from './nodes/node.ts'
import type { Image } from './nodes/pod-worker.ts'
import { openRealClusters } from './real/kubernetes.ts'
import { openRealCloud } from './real/openstack.ts'

export interface SandboxOptions {
  state: StateDir
  nodes: number
  nicDelayMs: number
  /** Address of a RabbitMQ that the cloud tells of its changes, or `local`. */
  rabbitmq?: string | undefined
  /** Which of the simulated parts are to be real ones. */
  real?: { kubernetes?: boolean | undefined; openstack?: boolean | undefined } | undefined
  /** Settings that every part is given besides its own. */
  env?: Record<string, string> | undefined
  /** Goes on from what an earlier one left in the directory, and leaves it there. */
  keep?: boolean | undefined
  /** Nodes on a machine in memory. */
  simulated?: boolean | undefined
  log: Log
  /** Without one, no port becomes a NIC: for tests that make their own. */
  withConfig?: boolean
  /** Told at each step, for people. */
  progress?: (line: string) => void
  /** Told when there are nodes, and before anybody looks at them. */
  onNodes?: (nodes: Attachable) => void
}

export interface Attachable {
  nodes: string[]
  attach(input: AttachInput): Promise<Port[]>
}

export interface Sandbox {
  readonly state: StateDir
  readonly world: World
  readonly cloud: Cloud
  readonly nodes: ReadonlyMap<string, SandboxNode>
  readonly management: Cluster
  readonly biz: Cluster
  readonly parts: Supervisor
  readonly urls: Record<string, string>
  /** Under which Viola knows the Biz cluster. */
  readonly clusterId: string
  /** Nodes are in memory. */
  readonly simulated: boolean
  attach(input: AttachInput): Port[]
  /** The same for any cloud: a real one takes its time, and cannot be asked otherwise. */
  askAttach(input: AttachInput): Promise<Port[]>
  detach(input: DetachInput): Promise<Port[]>
  reboot(node: string): Promise<void>
  /** What can go wrong, by its word. */
  readonly faults: FaultSwitchboard
  status(): Promise<SandboxStatus>
  stop(): Promise<void>
}

/** What a /24 has room for. */
const fewNodes = 200

/** The one of the nodes' primary NICs, and those that the OpenstackConfig of the sandbox chooses from. */
function subnetsFor(nodes: number): { home: SubnetInput; offered: SubnetInput[] } {
  const prefix = nodes > fewNodes ? 16 : 24
  return {
    home: { name: homeSubnet, cidr: `10.0.0.0/${prefix}`, mtu: 1500 },
    offered: [
      { name: 'storage', cidr: `10.10.0.0/${prefix}`, mtu: 9000 },
      { name: 'backup', cidr: `10.20.0.0/${prefix}`, mtu: 1450 },
    ],
  }
}

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { state, log, progress = () => {} } = options
  const world = createWorld()
  const clusterId = sandboxClusterId
  const { home, offered } = subnetsFor(options.nodes)
  const undo: (() => Promise<void>)[] = []
  const started = async <T>(making: Promise<T>, stop: (made: T) => Promise<void>): Promise<T> => {
    const made = await making
    undo.push(() => stop(made))
    return made
  }

  async function stop(): Promise<void> {
    for (const step of undo.reverse().splice(0))
      await step().catch(error => log.warn('a step of the end failed', { error }))
  }

  try {
    const subnets = [home, ...offered]
    const servers = Array.from({ length: options.nodes }, (_, index) => `worker-${index + 1}`)
    const resumes = options.keep === true && resumeWorld(state, world)
    if (!options.real?.openstack && !resumes) {
      for (const subnet of subnets) addSubnet(world, subnet)
      for (const name of servers) addServer(world, name)
    }

    progress('two Kubernetes APIs, a cloud, the agent, the dashboard')
    const open = options.real?.kubernetes ? openRealClusters : openClusters
    const clustersStart = started(open(state, log, options.keep), made => made.close())
    const bus = options.rabbitmq
      ? await started(openBus(options.rabbitmq, state, world, log), made => made.close())
      : undefined
    const cloudOpens = options.real?.openstack
      ? openRealCloud(world, { subnets, servers }, state, log)
      : startCloud(world, log)
    const cloudStarts = started(cloudOpens, made => made.close())
    const begun = [clustersStart, cloudStarts, builtParts()] as const
    // All of them first: what starts after a failure would never be stopped.
    await Promise.allSettled(begun)
    const [{ management, biz }, cloud, built] = await Promise.all(begun)
    const definitions = await readDefinitions()
    await Promise.all([management, biz].map(({ kube }) => installDefinitions(kube, definitions)))
    await installEncryptKey(management.kube, world)
    if (resumes) await Promise.all([freeLeases(management.kube), freeLeases(biz.kube)])

    progress('operator, Viola, controller')
    const kubeconfigs = { management: management.kubeconfig, biz: biz.kubeconfig }
    const {
      parts: wanted,
      addresses,
      tokenFile,
    } = await partsOf({
      state,
      kubeconfigs,
      contrabass: cloud.urls.contrabass,
      clusterId,
      built,
      env: options.env,
    })
    await mkdir(state.path('logs'), { recursive: true })
    const supervisor = supervise(wanted, {
      logs: state.path('logs'),
      log,
      onStart: pid => writeDown(state, pid),
    })
    undo.push(() => supervisor.stop())

    progress(`${world.servers.size} nodes`)
    const { machine, image } = await machineFor(options, built)
    const fabric = await started(createFabric(state, machine), made => made.remove())
    const nicDelay = { ms: options.nicDelayMs }
    const nodes = await makeNodes(options, world, fabric, nicDelay)
    const kubelets = new Map<string, Kubelet>()
    const shared = machine.simulated ? createInformer(biz.kube, pods, { log }) : undefined
    await Promise.all(
      [...nodes.values()].map(async node => {
        undo.push(() => node.remove())
        const dir = state.path('pods', node.name)
        const kubelet = startKubelet({ kube: biz.kube, node, image, dir, log, pods: shared })
        kubelets.set(node.name, await started(kubelet, made => made.stop()))
      }),
    )
    const watching = new AbortController()
    undo.push(async () => watching.abort())
    await shared?.start(watching.signal)
    biz.podLogs((namespace, name) => {
      const files = [...kubelets.values()].map(kubelet => kubelet.logFile(namespace, name, false))
      const found = files.find(each => each !== undefined)
      return found === undefined ? undefined : readFileSync(found, 'utf8')
    })
    world.onPorts(
      once(() => {
        for (const node of nodes.values()) node.wire().catch(error => log.error('wiring failed', { error }))
      }),
    )

    const attach = (input: AttachInput) => {
      if (cloud.hands) throw new Error('a port of a real cloud is attached by Nova: askAttach')
      return attachPorts(world, input)
    }
    const askAttach = async (input: AttachInput) =>
      cloud.hands ? attachBy(cloud.hands, world, input) : attachPorts(world, input)
    if (options.keep) undo.push(keepWorld(state, world))
    if (!resumes) options.onNodes?.({ nodes: [...nodes.keys()], attach: askAttach })

    const subnetIDs = offered.map(({ name }) => subnetNamed(world, name).id)
    const vmNames = [...world.servers.keys()]
    if (options.withConfig !== false && !resumes)
      await createConfig(management.kube, openstackConfigFor(world, { name: 'sandbox', vmNames, subnetIDs, clusterId }))

    await whenUp(addresses, state.path('logs'))

    const urls: Record<string, string> = {
      ...Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, `http://${address}`])),
      dashboard: `http://${addresses.inventory}/`,
      ...cloud.urls,
      management: management.url,
      biz: biz.url,
    }
    const faults = openFaults({
      ...{ state, world, fabric, nodes, nicDelay, cloud, bus, log },
      biz: biz.kube,
      cluster: { management: management.faults, biz: biz.faults, parts: supervisor },
    })
    undo.push(() => faults.off())
    const observe = () =>
      observeSandbox({
        world,
        nodes,
        management: management.kube,
        biz: biz.kube,
        kubeconfigs,
        tokenFile,
        urls,
        faults,
        host: hostOf(machine),
      })

    return {
      state,
      world,
      cloud,
      nodes,
      management,
      biz,
      parts: supervisor,
      urls,
      clusterId,
      simulated: machine.simulated,
      attach,
      askAttach,
      detach: input => detachPorts(world, biz.kube, input, cloud.hands),
      async reboot(name) {
        const kubelet = kubelets.get(name)
        if (!kubelet) throw new Error(`there is no node ${name}; there are ${[...nodes.keys()].join(', ')}`)
        await kubelet.reboot()
      },
      faults,
      status: async () => statusOf(await observe()),
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

/** What nodes are made of, and what stands for the agent's image there. */
async function machineFor(
  { state, simulated }: SandboxOptions,
  built: Built,
): Promise<{ machine: Machine; image: Image }> {
  if (simulated) {
    const { agentEntrypoint, simulatedMachine } = await import('./nodes/simulated/machine.ts')
    return { machine: simulatedMachine(), image: { entrypoint: [agentEntrypoint], mounts: [] } }
  }
  const image = {
    entrypoint: ['/multinic/node', '/multinic/agent.cjs'],
    mounts: [file(process.execPath, '/multinic/node'), file(built.agent, '/multinic/agent.cjs')],
  }
  return { machine: namespaceMachine(state), image }
}

function hostOf({ simulated }: Machine): HostKind {
  return simulated ? 'simulated' : isUsersOwn() ? 'user namespace' : 'namespaces'
}

/** Many changes in one moment are looked at once. */
function once(act: () => void): () => void {
  let due = false
  return () => {
    if (due) return
    due = true
    setImmediate(() => {
      due = false
      act()
    })
  }
}

async function makeNodes(
  options: SandboxOptions,
  world: World,
  fabric: Fabric,
  nicDelay: { ms: number },
): Promise<Map<string, SandboxNode>> {
  const { state, log } = options
  for (const { id, cidr, gatewayIp, networkId } of world.subnets.values())
    await fabric.addSubnet({ id, cidr, gatewayIp, mtu: world.networks.get(networkId)?.mtu ?? 1500 })
  const subnet = subnetNamed(world, homeSubnet)
  const made = await Promise.all(
    [...world.servers.values()].map(server => {
      // A real Nova has made it with the server.
      const own = portsOf(world, server).find(port => port.fixedIps[0]?.subnetId === subnet.id)
      const primary = own ?? addPort(world, { server, subnet })
      return createNode({ state, world, fabric, server, primary, nicDelayMs: () => nicDelay.ms, log })
    }),
  )
  return new Map(made.map(node => [node.name, node]))
}
