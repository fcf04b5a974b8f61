/**
 * A cluster for tests of the controller: API server and Job controller over HTTP, Nodes without kubelets, and functions that
 * end agents like a kubelet.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startKubeApi } from '../../sandbox/kube/server.ts'
import { type AgentInput, agentInputVariable } from '../../src/contract/agent-input.ts'
import type { AgentReport } from '../../src/contract/agent-report.ts'
import { crdOf, kinds } from '../../src/contract/crd.ts'
import { type NodeConfig, nodeConfigAnnotations, nodeConfigs } from '../../src/contract/node-config.ts'
import { aConfig, aNic, type ConfigValues } from '../../src/controller/controller.fixture.ts'
import { type NodeControllerOptions, runNodeController } from '../../src/controller/main.ts'
import { connectKube, type KubeClient } from '../../src/kube/client.ts'
import { loadKubeconfig } from '../../src/kube/config.ts'
import { isNotFound } from '../../src/kube/errors.ts'
import { crds, jobs, namespaces, nodes, pods } from '../../src/kube/resources.ts'
import type { JobObject, KubeObject, NodeObject, PodObject } from '../../src/kube/types.ts'
import { messageOf } from '../../src/runtime/errors.ts'
import { type Log, silent } from '../../src/telemetry/log.ts'
import { eventually, type WaitOptions } from './eventually.ts'

export type ControllerCluster = Awaited<ReturnType<typeof startControllerCluster>>
export type ControllerHarness = ReturnType<typeof controllerHarness>

export async function startControllerCluster(namespace = 'multinic-system') {
  const dir = await mkdtemp(join(tmpdir(), 'controller-'))
  const api = await startKubeApi({ name: 'biz', dir, log: silent })
  const kube = connectKube(await loadKubeconfig(api.kubeconfig))
  for (const kind of kinds) await kube.create(crds, crdOf(kind) as KubeObject)
  await kube
    .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    .catch(() => 'exists already')

  async function close(): Promise<void> {
    await kube.close()
    await api.close()
    await rm(dir, { recursive: true, force: true })
  }
  return { api, ...controllerHarness(kube, api.kubeconfig, namespace), close }
}

let machines = 0

/** Actions and expectations of a test in one namespace, on any API server. */
export function controllerHarness(kube: KubeClient, kubeconfig: string, namespace: string, waits: WaitOptions = {}) {
  async function startController(
    env: Record<string, string> = {},
    log: Log = silent,
    limits: Pick<NodeControllerOptions, 'workers' | 'checkGapMs' | 'maxChecks'> = {},
  ) {
    const stop = new AbortController()
    const listening = Promise.withResolvers<string>()
    const ended = runNodeController({
      ...limits,
      env: {
        KUBECONFIG: kubeconfig,
        CONTROLLER_NAMESPACE: namespace,
        HEALTH_ADDR: '127.0.0.1:0',
        AGENT_IMAGE: 'multinic-agent:test',
        ...env,
      },
      log,
      signal: stop.signal,
      onListening: listening.resolve,
    })
    const health = await listening.promise
    const end = () => {
      stop.abort()
      return ended
    }
    return { health, stop: end }
  }

  async function addNode(name: string): Promise<string> {
    const systemUUID = `6f1c2a10-0001-4aaa-8bbb-${(++machines).toString().padStart(12, '0')}`
    const node: NodeObject = { apiVersion: 'v1', kind: 'Node', metadata: { name } }
    await kube.create(nodes, node)
    await setNode(name, { systemUUID: systemUUID.toUpperCase(), bootID: 'boot-1', osImage: 'Ubuntu 24.04 LTS' })
    return systemUUID
  }

  const setNode = (name: string, nodeInfo: object, ready: 'True' | 'False' | 'Unknown' = 'True') =>
    kube.patchStatus(
      nodes,
      { name },
      {
        nodeInfo,
        conditions: [{ type: 'Ready', status: ready }],
        addresses: [{ type: 'InternalIP', address: '10.0.0.11' }],
      },
    )

  async function addConfig(
    name: string,
    instanceId: string,
    { nics = 1, nodeName = name, aliases }: Pick<ConfigValues, 'nics' | 'nodeName' | 'aliases'> = {},
  ): Promise<NodeConfig> {
    const { apiVersion, kind, spec } = aConfig({ name, nodeName, instanceId, nics, ...(aliases && { aliases }) })
    return kube.create(nodeConfigs, { apiVersion, kind, metadata: { name, namespace }, spec })
  }

  const configOf = (name: string) => kube.get(nodeConfigs, { namespace, name })
  const changeSpec = (name: string, specHash: string) =>
    kube.patch(nodeConfigs, { namespace, name }, { spec: { specHash } })
  /** Of all interfaces of a config. */
  const setMtu = async (name: string, mtu: number) => {
    const interfaces = (await configOf(name))?.spec.interfaces.map(nic => ({ ...nic, mtu }))
    await kube.patch(nodeConfigs, { namespace, name }, { spec: { interfaces } })
  }
  const jobsOn = async (node: string): Promise<JobObject[]> =>
    (await kube.list(jobs, { namespace })).items.filter(job => job.spec.template.spec.nodeName === node)
  const podsOn = async (node: string): Promise<PodObject[]> =>
    (await kube.list(pods, { namespace })).items.filter(pod => pod.spec.nodeName === node)
  const waitingPods = async () => (await kube.list(pods, { namespace })).items.filter(pod => !hasEnded(pod))

  /** Ends the agent on a node like a kubelet at first: container terminated, Pod still Running. */
  async function endAgent(node: string, values: Partial<AgentReport> = {}): Promise<PodObject> {
    const pod = await eventually(async () => {
      const open = (await podsOn(node)).find(one => !hasEnded(one))
      assert.ok(open, `no agent is running on ${node}`)
      return open
    }, waits)
    await kube.patchStatus(pods, { namespace, name: pod.metadata.name }, endedStatus(pod, 'Running', values))
    return pod
  }

  /** Sets the Pod to Succeeded, which ends its Job. The controller may have deleted both meanwhile. */
  async function finishPod(pod: PodObject): Promise<void> {
    const now = await kube.get(pods, { namespace, name: pod.metadata.name })
    const terminated = now?.status?.containerStatuses?.[0]?.state?.terminated
    if (!now || !terminated) return
    await kube
      .patchStatus(pods, { namespace, name: pod.metadata.name }, statusOf('Succeeded', terminated))
      .catch((error: unknown) => assert.ok(isNotFound(error), messageOf(error)))
  }

  /** `state nics Ready reason: message` */
  async function expectStatus(name: string, line: string): Promise<NodeConfig> {
    const matches = async () => {
      const config = await configOf(name)
      const { state, nics, conditions } = config?.status ?? {}
      const ready = conditions?.find(({ type }) => type === 'Ready')
      assert.equal(`${state} ${nics} ${ready?.status} ${ready?.reason}: ${ready?.message}`, line)
      assert.ok(config)
      return config
    }
    return eventually(matches, waits)
  }

  const expectConfigured = (name: string) =>
    expectStatus(name, 'Configured 1/1 True AllInterfacesConfigured: 1 interface configured successfully')

  /** For a test that deletes more configs than its few allow, one after the other. */
  const approveDeletions = () => {
    const annotations = { [nodeConfigAnnotations.approveDeletions]: `${Math.floor(Date.now() / 1_000)}` }
    return kube.patch(namespaces, { name: namespace }, { metadata: { annotations } })
  }

  return {
    ...{ kube, namespace, startController, addNode, setNode, addConfig, configOf, changeSpec, setMtu, jobsOn, podsOn },
    ...{ waits, waitingPods, approveDeletions, endAgent, finishPod, expectStatus, expectConfigured },
  }
}

export function inputOf(pod: Pick<PodObject, 'spec'>): AgentInput {
  const variable = pod.spec.containers[0]?.env?.find(({ name }) => name === agentInputVariable)
  return JSON.parse(variable?.value ?? '{}') as AgentInput
}

function hasEnded(pod: PodObject): boolean {
  return pod.status?.containerStatuses?.[0]?.state?.terminated !== undefined
}

function reportFor({ nodeName, mode, generation, specHash, interfaces }: AgentInput, values: Partial<AgentReport>) {
  return {
    version: 1,
    node: nodeName,
    mode,
    generation,
    specHash,
    verdict: mode === 'cleanup' ? 'Removed' : 'Configured',
    reason: 'Configured',
    message: '',
    interfaces: mode === 'cleanup' ? [] : interfaces.map(({ id = 0 }) => aNic(id)),
    changed: 3,
    removed: [],
    undone: [],
    timings: {},
    ...values,
  } satisfies AgentReport
}

/** The status of a Pod whose agent left a report. */
export function endedStatus(pod: PodObject, phase: 'Running' | 'Succeeded', values: Partial<AgentReport> = {}): object {
  const message = JSON.stringify(reportFor(inputOf(pod), values))
  return statusOf(phase, { exitCode: 0, message, finishedAt: new Date().toISOString() })
}

function statusOf(phase: string, terminated: object): object {
  const agent = { name: 'agent', restartCount: 0, ready: false, image: '', imageID: '', state: { terminated } }
  return { phase, containerStatuses: [agent] }
}
