/**
 * Watches the system during chaos and records every violation of a guarantee.
 *
 * G1: foreign configuration of a node stays unchanged. G2: no requested interface is removed. G3: a port keeps its interface
 * index, and an index belongs to one port. G7: what is Configured was observed as requested. G9: no object contains a secret. At
 * most one of our Jobs runs on a node.
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { sandboxNamespace as namespace } from '../../sandbox/lifecycle/components.ts'
import { type NodeConfig, nodeConfigs } from '../../src/contract/node-config.ts'
import type { KubeObject } from '../../src/contract/object.ts'
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import { isOurPriority } from '../../src/contract/routing-scheme.ts'
import { jobLabels } from '../../src/controller/job.ts'
import { createInformer } from '../../src/kube/informer.ts'
import { jobs } from '../../src/kube/resources.ts'
import type { JobObject } from '../../src/kube/types.ts'
import { silent } from '../../src/telemetry/log.ts'
import type { NodeState, TestSandbox } from '../system/sandbox.fixture.ts'
import { secretsIn } from './idle-checks.ts'
import { alwaysRequested, type Model } from './model.ts'

export interface Watcher {
  readonly violations: readonly string[]
  /** Does not inspect the node during the work: it reboots. */
  ignoring<T>(vm: string, work: () => Promise<T>): Promise<T>
  report(violation: string): void
  /** Checks G1 on all nodes now. */
  inspect(): Promise<void>
  stop(): Promise<void>
}

const intervalMs = 1_000
/** Routing tables of NICs, and the one with routes by the primary NIC. */
const ourTable = /^1(0\d|10): /

export async function startWatcher(system: TestSandbox, model: Model): Promise<Watcher> {
  const { nodes, biz, management } = system.sandbox
  const life = new AbortController()
  const violations: string[] = []
  const indexes = new Map<string, number>()
  const ignored = new Set<string>()
  const startedAt = performance.now()
  const report = (text: string) => {
    if (violations.length < 100) violations.push(`${((performance.now() - startedAt) / 1_000).toFixed(1)} s: ${text}`)
  }

  const before = new Map<string, string>()
  for (const name of nodes.keys()) before.set(name, foreignIn(await system.nodeState(name), model))

  async function inspect(): Promise<void> {
    for (const name of nodes.keys()) {
      if (ignored.has(name)) continue
      const state = await system.nodeState(name).catch(() => undefined)
      // The node may have started to reboot during the inspection.
      if (!state || ignored.has(name)) continue
      const now = foreignIn(state, model)
      if (now !== before.get(name))
        report(`G1: ${name}: foreign configuration changed from\n${before.get(name)}\nto\n${now}`)
    }
  }

  function checkInterfaces(config: NodeConfig): void {
    const { nodeName, interfaces } = config.spec
    const ports = new Map<number, string>()
    for (const { id: index = -1, portId = '' } of interfaces) {
      const other = ports.get(index)
      if (other) report(`G3: ${nodeName} gives multinic${index} to ${other} and to ${portId}`)
      ports.set(index, portId)
      const previous = indexes.get(portId)
      if (previous !== undefined && previous !== index && alwaysRequested(model, portId))
        report(`G3: ${portId} was multinic${previous} and is multinic${index}`)
      indexes.set(portId, index)
    }
    checkRemoved(nodeName, new Set(ports.values()))
  }

  function checkRemoved(nodeName: string, present: ReadonlySet<string>): void {
    for (const { id, vm } of model.ports.values()) {
      if (vm !== nodeName || present.has(id) || !indexes.has(id)) continue
      if (alwaysRequested(model, id)) report(`G2: ${nodeName} lost port ${id}, which is attached and requested`)
    }
    for (const id of indexes.keys()) if (!present.has(id) && !alwaysRequested(model, id)) indexes.delete(id)
  }

  function checkSecrets(object: KubeObject): void {
    for (const what of secretsIn(JSON.stringify(object), system.sandbox))
      report(`G9: ${object.kind} ${object.metadata.name} contains ${what}`)
  }

  const configs = createInformer(biz.kube, nodeConfigs, { namespace, log: silent })
  configs.on(({ type, object }) => {
    checkSecrets(object)
    if (type === 'deleted') return checkRemoved(object.spec.nodeName, new Set())
    checkInterfaces(object)
    for (const text of unverifiedIn(object)) report(`G7: ${object.metadata.name} ${text}`)
  })
  const requests = createInformer(management.kube, openstackConfigs, { namespace, log: silent })
  requests.on(({ object }) => checkSecrets(object))
  const ownJobs = createInformer(biz.kube, jobs, { namespace, log: silent })
  ownJobs.on(({ type, object }) => {
    const node = object.spec.template.spec.nodeName
    const running = ownJobs.list().filter(job => job.spec.template.spec.nodeName === node && !isFinished(job))
    if (type !== 'deleted' && running.length > 1) report(`two Jobs on ${node}: ${running.map(describeJob).join(', ')}`)
  })
  for (const informer of [configs, requests, ownJobs]) await informer.start(life.signal)

  const inspections = (async () => {
    while (!life.signal.aborted) {
      await inspect()
      await sleep(intervalMs, undefined, { signal: life.signal }).catch(() => {})
    }
  })()

  return {
    violations,
    report,
    inspect,
    async ignoring(vm, work) {
      ignored.add(vm)
      try {
        return await work()
      } finally {
        ignored.delete(vm)
      }
    },
    async stop() {
      life.abort()
      await inspections
    },
  }
}

function describeJob({ metadata, status }: JobObject): string {
  return `${metadata.labels?.[jobLabels.action]} ${metadata.name} ${JSON.stringify(status)}`
}

function isFinished({ metadata, status }: JobObject): boolean {
  const ended = status?.conditions?.some(({ type, status: is }) => /Complete|Failed/.test(type) && is === 'True')
  return ended === true || metadata.deletionTimestamp !== undefined
}

/** Interfaces of the current generation that are Configured although the agent observed something else. */
function unverifiedIn({ metadata, spec, status }: NodeConfig): string[] {
  if (status?.observedGeneration !== metadata.generation) return []
  return (status?.interfaceStatuses ?? []).flatMap(({ macAddress, status: state, pending, observed }) => {
    const requested = spec.interfaces.find(nic => nic.macAddress === macAddress)
    if (state !== 'Configured' || pending || !observed || !requested) return []
    const { name, mtu, addresses = [] } = observed
    const isAsRequested =
      name === requested.name &&
      (requested.mtu === undefined || mtu === requested.mtu) &&
      (requested.addresses ?? []).every(address => addresses.includes(address))
    return isAsRequested
      ? []
      : [`${name} is Configured, but was observed as ${JSON.stringify(observed)} for ${JSON.stringify(requested)}`]
  })
}

/** Everything on a node that is not ours, as text. A file counts with the hash of its content. */
function foreignIn({ nics, rules, routes, files }: NodeState, { macAddresses }: Model): string {
  const ours = new Set(nics.filter(nic => macAddresses.has(nic.macAddress)).map(nic => nic.name))
  const isOurs = (route: string) => ourTable.test(route) || ours.has(/ dev (\S+)$/.exec(route)?.[1] ?? '')
  return [
    ...nics
      .filter(nic => !ours.has(nic.name))
      .map(nic => `${nic.name} ${nic.macAddress} ${nic.mtu} ${nic.up} ${nic.addresses}`),
    ...rules.filter(rule => !isOurPriority(Number.parseInt(rule, 10))),
    ...routes.filter(route => !isOurs(route)),
    ...Object.entries(files)
      .filter(([path]) => !path.includes('multinic'))
      .map(([path, text]) => `${path} ${createHash('sha256').update(text).digest('hex')}`),
  ].join('\n')
}
