/**
 * Starts a complete local environment: two Kubernetes APIs, a cloud and nodes with their kubelets in this process, and the
 * components as processes of the production program.
 */
import { mkdir, readFile } from 'node:fs/promises'
import type { Log } from '../src/telemetry/log.ts'
import {
  type AttachInput,
  attachPorts,
  attachThroughNova,
  type DetachInput,
  detachPorts,
  primarySubnet,
} from './cloud/attach.ts'
import { type Cloud, startCloud } from './cloud/cloud.ts'
import { startMessageBus } from './cloud/message-bus.ts'
import {
  addServer,
  addSubnet,
  type CloudState,
  createCloudState,
  findSubnet,
  type Port,
  type SubnetInput,
  sandboxClusterId,
} from './cloud/state.ts'
import { observeSandbox } from './control/observe.ts'
import { type HostKind, type SandboxStatus, sandboxStatus } from './control/status.ts'
import type { FaultControl } from './faults/active-faults.ts'
import { createFaults } from './faults/injectors.ts'
import type { RealServices } from './faults/unavailable.ts'
import { ensureBundles } from './lifecycle/bundles.ts'
import { createCleanup } from './lifecycle/cleanup.ts'
import { type Cluster, startClusters } from './lifecycle/clusters.ts'
import { componentsFor, waitUntilHealthy } from './lifecycle/components.ts'
import {
  createConfig,
  installDefinitions,
  installEncryptKey,
  openstackConfigFor,
  readDefinitions,
} from './lifecycle/install.ts'
import { isInUserNamespace } from './lifecycle/rootless.ts'
import { recordProcess, type StateDir } from './lifecycle/state-dir.ts'
import { type Supervisor, supervise } from './lifecycle/supervisor.ts'
import type { Machine } from './nodes/machine.ts'
import type { SandboxNode } from './nodes/node.ts'
import { startNodes } from './nodes/start.ts'
import { startRealClusters } from './real/kubernetes.ts'
import { startRealCloud } from './real/openstack.ts'

export interface SandboxOptions {
  state: StateDir
  nodes: number
  nicDelayMs: number
  /** URL of a RabbitMQ for the notifications of the cloud, or `local`. */
  rabbitmq?: string | undefined
  /** Use real services instead of simulated ones. */
  real?: RealServices | undefined
  /** Additional settings for every component. */
  env?: Record<string, string> | undefined
  /** Simulates the nodes in memory. */
  simulated?: boolean | undefined
  /** Nodes are virtual machines. */
  vm?: boolean | undefined
  log: Log
  /** False for tests that create their own OpenstackConfig. */
  withConfig?: boolean
  /** Called before each step. */
  progress?: (line: string) => void
  /** Called when the nodes exist, before the operator is up. */
  onNodes?: (nodes: AttachTarget) => void
}

export interface AttachTarget {
  nodes: string[]
  attach(input: AttachInput): Promise<Port[]>
}

export interface Sandbox {
  readonly state: StateDir
  readonly cloudState: CloudState
  readonly cloud: Cloud
  /** What the nodes run on. */
  readonly machine: Machine
  readonly nodes: ReadonlyMap<string, SandboxNode>
  readonly management: Cluster
  readonly biz: Cluster
  readonly components: Supervisor
  readonly urls: Record<string, string>
  /** Provider id of the Biz cluster in Viola. */
  readonly clusterId: string
  readonly host: HostKind
  /** Simulated cloud only. */
  attach(input: AttachInput): Port[]
  /** Any cloud: resolves when the ports are attached. */
  requestAttach(input: AttachInput): Promise<Port[]>
  detach(input: DetachInput): Promise<Port[]>
  reboot(node: string): Promise<void>
  readonly faults: FaultControl
  status(): Promise<SandboxStatus>
  stop(): Promise<void>
}

/** A /24 has enough addresses for this many nodes. */
const maxNodesPer24 = 200

/** The subnet of the primary NICs, those that the OpenstackConfig of the sandbox selects, and the one of config/samples. */
function subnetsFor(nodes: number): { primary: SubnetInput; selected: SubnetInput[]; sample: SubnetInput } {
  const prefix = nodes > maxNodesPer24 ? 16 : 24
  return {
    primary: { name: primarySubnet, cidr: `10.0.0.0/${prefix}`, mtu: 1500 },
    selected: [
      { name: 'storage', cidr: `10.10.0.0/${prefix}`, mtu: 9000 },
      { name: 'backup', cidr: `10.20.0.0/${prefix}`, mtu: 1450 },
    ],
    sample: { name: 'app', cidr: `10.30.0.0/${prefix}`, mtu: 1500 },
  }
}

export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { state, log, progress = () => {} } = options
  const cloudState = createCloudState()
  const clusterId = sandboxClusterId
  const { primary, selected, sample } = subnetsFor(options.nodes)
  const cleanup = createCleanup(log)

  try {
    const subnets = [primary, ...selected, sample]
    const servers = Array.from({ length: options.nodes }, (_, index) => `worker-${index + 1}`)
    if (!options.real?.openstack) {
      for (const subnet of subnets) addSubnet(cloudState, subnet)
      for (const name of servers) addServer(cloudState, name)
    }

    progress('starting two Kubernetes APIs, a cloud, the agent, the dashboard')
    const openClusters = options.real?.kubernetes ? startRealClusters : startClusters
    const clustersStarting = cleanup.track(openClusters(state, log), clusters => clusters.close())
    const bus = options.rabbitmq
      ? await cleanup.track(startMessageBus(options.rabbitmq, state, cloudState, log), running => running.close())
      : undefined
    const cloudStarting = cleanup.track(
      options.real?.openstack
        ? startRealCloud(cloudState, { subnets, servers }, state, log)
        : startCloud(cloudState, log),
      running => running.close(),
    )
    const starting = [clustersStarting, cloudStarting, ensureBundles()] as const
    // Wait for all, even if one fails: a resource that starts later would never be stopped.
    await Promise.allSettled(starting)
    const [{ management, biz, startKubelet }, cloud, bundles] = await Promise.all(starting)
    const definitions = await readDefinitions()
    await Promise.all([management, biz].map(({ kube }) => installDefinitions(kube, definitions)))
    await installEncryptKey(management.kube, cloudState)

    progress('starting operator, Viola, controller')
    const kubeconfigs = { management: management.kubeconfig, biz: biz.kubeconfig }
    const { components, addresses, tokenFile } = await componentsFor({
      state,
      kubeconfigs,
      contrabass: cloud.urls.contrabass,
      clusterId,
      bundles,
      env: options.env,
    })
    await mkdir(state.path('logs'), { recursive: true })
    const supervisor = supervise(components, {
      logs: state.path('logs'),
      log,
      onStart: pid => recordProcess(state, pid),
    })
    cleanup.add(() => supervisor.stop())

    progress(`starting ${cloudState.servers.size} nodes`)
    const { simulated, vm, nicDelayMs } = options
    const { machine, fabric, nodes, nicDelay, podLog, reboot, failedReboots } = await startNodes({
      ...{ state, cloudState, kube: biz.kube, agent: bundles.agent, simulated, vm, nicDelayMs, cleanup, log, progress },
      startRealKubelet: options.real?.kubelets ? startKubelet : undefined,
    })
    const host = vm ? 'virtual machines' : hostKind(machine)
    biz.setPodLogs(podLog)

    const attach = (input: AttachInput) => {
      if (cloud.attacher) throw new Error('use requestAttach with a real cloud')
      return attachPorts(cloudState, input)
    }
    const requestAttach = async (input: AttachInput) =>
      cloud.attacher ? attachThroughNova(cloud.attacher, cloudState, input) : attachPorts(cloudState, input)
    options.onNodes?.({ nodes: [...nodes.keys()], attach: requestAttach })

    const subnetIDs = selected.map(({ name }) => findSubnet(cloudState, name).id)
    const vmNames = [...cloudState.servers.keys()]
    if (options.withConfig !== false)
      await createConfig(
        management.kube,
        openstackConfigFor(cloudState, { name: 'sandbox', vmNames, subnetIDs, clusterId }),
      )

    await waitUntilHealthy(addresses, state.path('logs'))

    const urls: Record<string, string> = {
      ...Object.fromEntries(Object.entries(addresses).map(([name, address]) => [name, `http://${address}`])),
      // Signs the user in. The fragment stays in the browser.
      dashboard: `http://${addresses.inventory}/#token=${(await readFile(tokenFile, 'utf8')).trim()}`,
      ...cloud.urls,
      management: management.url,
      biz: biz.url,
    }
    const faults = createFaults({
      ...{ state, cloudState, fabric, nodes, nicDelay, host, cloud, bus, log },
      biz: biz.kube,
      cluster: { management: management.faults, biz: biz.faults, components: supervisor },
      real: options.real ?? {},
    })
    cleanup.add(() => faults.stop())
    const observe = () =>
      observeSandbox({
        cloudState,
        nodes,
        failedReboots,
        management: management.kube,
        biz: biz.kube,
        kubeconfigs,
        tokenFile,
        urls,
        faults,
        host,
      })

    return {
      state,
      cloudState,
      cloud,
      machine,
      nodes,
      management,
      biz,
      components: supervisor,
      urls,
      clusterId,
      host,
      attach,
      requestAttach,
      detach: input => detachPorts(cloudState, biz.kube, input, cloud.attacher),
      reboot,
      faults,
      status: async () => sandboxStatus(await observe()),
      stop: cleanup.run,
    }
  } catch (error) {
    await cleanup.run()
    throw error
  }
}

function hostKind({ simulated }: Machine): HostKind {
  return simulated ? 'simulated' : isInUserNamespace() ? 'user namespace' : 'namespaces'
}
