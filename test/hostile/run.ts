/**
 * Runs the corpus against the deployed program: the operator, Viola, the inventory and the controller, each in a memory cgroup
 * with the limit of the chart. One service of the cloud, the message bus or the Kubernetes API is hostile.
 */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { type RunningComponent, startComponent } from '../bench/component.ts'
import { clusterId, type OperatorEnvironment, startOperatorEnvironment } from '../operator/environment.ts'
import { limitMemory, type MemoryLimit } from '../rigs/memory-limit.ts'
import { shippedFor } from '../soak/chart.ts'
import { type ComponentName, componentNames } from '../soak/names.ts'
import { eventually } from '../support/eventually.ts'
import { bodies } from './bodies.ts'
import { type HostileBus, notifications, startHostileBus } from './bus.ts'
import {
  type HostileAnswer,
  type HostileCloud,
  type Service,
  services,
  startHostileCloud,
  subnetId,
  vmIds,
} from './cloud.ts'
import { startHostileCollector } from './collector.ts'
import { answers } from './connections.ts'
import { type HostileKube, startHostileKube } from './kube.ts'
import { kubeCases } from './kube-cases.ts'
import { sampleLimits, startProbe } from './probe.ts'
import { type Case, requestCases } from './requests.ts'

export interface Outcome {
  tried: number
  /** Cases that ended a process or were never answered. */
  ended: string[]
  /** The longest processor time until an answer of /healthz, and the cases that ran then. */
  slowest: Record<ComponentName, { ms: number; during: string[] }>
  /** Answers of /healthz that took too long, with the cases that ran then. */
  tooSlow: string[]
}

/** The controller must not serve the node configs that Viola writes. */
const controllerNamespace = 'other-cluster'
const namespaces: Partial<Record<ComponentName, string>> = { controller: controllerNamespace }

interface Component extends RunningComponent {
  limit: MemoryLimit
}

/** Answers and requests of others, answers of the Kubernetes API, or all. */
export type Corpus = 'services' | 'kubernetes' | 'all'

const concurrency = 4
const withinMs = 120_000

/** `only` is a part of the names of cases. */
export async function runHostile(program: string, corpus: Corpus = 'all', only = ''): Promise<Outcome> {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), 'multinic-hostile-'))
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const environment = await startOperatorEnvironment()
  stack.defer(() => environment.close())
  const cloud = stack.use(await startHostileCloud(environment.cloudState.provider.encryptKey))
  const bus = stack.use(await startHostileBus())
  const collector = stack.use(await startHostileCollector())
  const { token, tokensFile } = environment.caller

  const kubes = {} as Record<ComponentName, HostileKube>
  for (const name of componentNames)
    kubes[name] = stack.use(await startHostileKube(environment.api, join(dir, `${name}.kubeconfig`)))
  const settings: Record<ComponentName, Record<string, string>> = {
    operator: {
      KUBECONFIG: kubes.operator.kubeconfig,
      OPERATOR_ADDR: '127.0.0.1:0',
      OPERATOR_TOKENS_FILE: tokensFile,
      POD_NAMESPACE: namespace,
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'embedded.db'),
    },
    viola: { KUBECONFIG: kubes.viola.kubeconfig, LISTEN_ADDR: '127.0.0.1:0', VIOLA_TOKENS_FILE: tokensFile },
    inventory: {
      INVENTORY_ADDR: '127.0.0.1:0',
      INVENTORY_DB_PATH: join(dir, 'inventory.db'),
      INVENTORY_TOKENS_FILE: tokensFile,
      KUBECONFIG: kubes.inventory.kubeconfig,
      INVENTORY_RATE_LIMIT: '0',
    },
    controller: {
      KUBECONFIG: kubes.controller.kubeconfig,
      HEALTH_ADDR: '127.0.0.1:0',
      CONTROLLER_NAMESPACE: controllerNamespace,
    },
  }
  const start = async (name: ComponentName): Promise<Component> => {
    const limit = stack.use(
      await limitMemory(`hostile-${name}-${randomUUID().slice(0, 8)}`, shippedFor(name, 'values.yaml').memoryMib),
    )
    const env = { ...settings[name], OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/${name}` }
    const component = stack.use(await startComponent(name, program, env, limit))
    return { ...component, limit }
  }
  const running = {} as Record<ComponentName, Component>
  for (const name of componentNames) running[name] = await start(name)
  const none = () => ({ ms: 0, during: [] })
  const slowest = { operator: none(), viola: none(), inventory: none(), controller: none() }
  const outcome: Outcome = { tried: 0, ended: [], slowest, tooSlow: [] }
  const matching = (cases: Case[]) => cases.filter(({ name }) => name.includes(only))
  const shared =
    corpus === 'kubernetes'
      ? []
      : matching([...answerCases(environment, cloud), ...busCases(environment, cloud, bus), ...requestCases(token)])
  const current = new Set<Case>()
  const watch = () =>
    startProbe(
      Object.entries(running).map(([name, { url, pid }]) => ({ name, url, pid })),
      ({ name, computedMs, heldUpMs }) => {
        const during = [...current].filter(({ component }) => component === name).map(one => one.name)
        if (computedMs > outcome.slowest[name as ComponentName].ms)
          outcome.slowest[name as ComponentName] = { ms: computedMs, during }
        if (computedMs < sampleLimits.computedMs && heldUpMs < sampleLimits.heldUpMs) return
        const times = `computed ${computedMs.toFixed()} ms, held up ${heldUpMs.toFixed()} ms`
        outcome.tooSlow.push(`${name}: ${times} during ${during.join('; ')}`)
      },
    )
  let probe = watch()
  let restarting: Promise<void> | undefined
  /** A process that ended is replaced, so that the other cases are still tried. */
  const restart = async (name: ComponentName) => {
    await probe.stop()
    running[name] = await start(name)
    probe = watch()
  }
  const work = async (queue: Case[]) => {
    for (let next = queue.shift(); next; next = queue.shift()) {
      await restarting
      const { name, component, run } = next
      const { url, ended } = running[component]
      current.add(next)
      await run(url, ended).catch(error => {
        if (!ended.aborted) outcome.ended.push(`${name}: ${error}`)
      })
      current.delete(next)
      outcome.tried++
      if (ended.aborted) outcome.ended.push(`${name}: ${ended.reason}`)
      if (running[component].ended.aborted)
        restarting ??= restart(component).finally(() => {
          restarting = undefined
        })
    }
  }
  await Promise.all(Array.from({ length: concurrency }, () => work(shared)))
  // The API of a component has one hostile answer at a time.
  await Promise.all(
    (corpus === 'services' ? [] : componentNames).map(component => {
      const options = { environment, kube: kubes[component], namespace: namespaces[component] ?? namespace }
      return work(matching(kubeCases(component, options).map(one => ({ ...one, component }))))
    }),
  )
  await restarting
  await probe.stop()
  outcome.tried += collector.tried()
  return outcome
}

/** Every hostile body and connection, as the answer of every service to the operator. */
function answerCases(environment: OperatorEnvironment, cloud: HostileCloud): Case[] {
  const hostile: [string, HostileAnswer['answer']][] = [
    ...Object.entries(bodies).map(([name, body]): [string, HostileAnswer['answer']] => [name, { body }]),
    ...Object.entries(answers).map(([name, raw]): [string, HostileAnswer['answer']] => [name, { raw }]),
  ]
  return hostile.flatMap(([name, answer], index) =>
    (Object.keys(services) as Service[])
      // The connections are the same for every service.
      .filter(service => 'body' in answer || service === 'ports' || service === 'viola list')
      .map((service, at) => ({
        name: `${service} answers ${name}`,
        component: 'operator' as const,
        run: (_url: string, ended: AbortSignal) =>
          syncOnce(environment, cloud.add(`case-${index}-${at}`, { service, answer }), `case-${index}-${at}`, ended),
      })),
  )
}

/** Every hostile notification, from the message bus of a cloud that is otherwise valid. */
function busCases(environment: OperatorEnvironment, cloud: HostileCloud, bus: HostileBus): Case[] {
  return Object.entries(notifications).map(([what, notification], index) => ({
    name: `bus delivers ${what}`,
    component: 'operator' as const,
    run: (_url: string, ended: AbortSignal) => {
      const name = `bus-${index}`
      const url = cloud.add(name, { bus: bus.add(name, notification) })
      const over = new Promise(resolve => ended.addEventListener('abort', resolve))
      return syncOnce(environment, url, name, ended, () => Promise.race([bus.handled(name), over]))
    },
  }))
}

/** Creates an object of the case and waits until the operator has said what came of it. */
async function syncOnce(
  environment: OperatorEnvironment,
  url: string,
  name: string,
  ended: AbortSignal,
  handled: () => Promise<unknown> = async () => {},
): Promise<void> {
  const never = { pollFastInterval: '1h', pollSlowInterval: '1h', pollErrorInterval: '1h' }
  await environment.create({
    name,
    subnetIDs: [subnetId],
    vmNames: vmIds,
    credentials: { openstackProviderID: name, k8sProviderID: clusterId, projectID: 'a'.repeat(32) },
    settings: {
      ...never,
      contrabassEndpoint: url,
      violaEndpoint: url,
      contrabassTimeout: '2s',
      openstackTimeout: '2s',
      violaTimeout: '2s',
    },
  })
  await eventually(
    async () => {
      const { status } = await environment.config(name)
      if (!ended.aborted && !status?.conditions?.some(({ type }) => type === 'Ready')) throw new Error('no result')
    },
    { within: withinMs, every: 100 },
  )
  await handled()
  const at = { namespace, name }
  await environment.kube.patch(openstackConfigs, at, { metadata: { finalizers: null } })
  await environment.kube.delete(openstackConfigs, at)
}
