/**
 * Everything the planner needs about one config, read from the caches: no request is made.
 */
import type { NodeConfig } from '../contract/node-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { JobObject, Key, PodObject } from '../kube/types.ts'
import { type Caches, finishOf, jobUidOf, nodeOf } from './caches.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import type { Memory } from './latest-state.ts'
import { isEntry } from './legacy/entry.ts'
import { factsOf, instanceIdOf, isSameMachine, spellingsOf } from './machine.ts'
import type { Action, AgentJob, NodeFacts, Observed, Policy, Trouble, Twin } from './plan/observed.ts'
import { isPaused } from './plan/work.ts'
import type { Troubles } from './pod-start-errors.ts'
import { endingOf, readReport } from './report.ts'
import type { Rollout } from './rollout.ts'

export interface View {
  caches: Caches
  memory: Memory
  rollout: Pick<Rollout, 'look' | 'checksFull'>
  troubles: Pick<Troubles, 'of'>
  policy: Policy
}

/** Undefined when there is no such config. */
export function observe(view: View, key: string, now: number): Observed | undefined {
  const config = view.memory.config(key)
  if (!config) return undefined
  const { node, namesake } = machineOf(view.caches, config)
  const name = node?.name ?? config.spec.nodeName
  return {
    config,
    now,
    ...(node && { node }),
    ...(namesake && { namesake }),
    twins: twinsOf(view.caches, config, node),
    jobs: jobsOn(view, name, node?.systemUUID ?? '', now),
    // Looked up only when the plan depends on it: most plans do not.
    get rollout() {
      return view.rollout.look(key, now)
    },
    namespaceEnding: isEnding(view.caches),
    allPaused: view.caches.namespaces.list().some(isPaused),
    get checksFull() {
      return view.rollout.checksFull()
    },
    policy: view.policy,
  }
}

/** By SystemUUID; by name only when the config names no machine. */
function machineOf({ nodes }: Caches, config: NodeConfig): { node?: NodeFacts; namesake?: NodeFacts } {
  const named = nodes.get(config.spec.nodeName)
  const instanceId = instanceIdOf(config)
  if (!instanceId) return named ? { node: factsOf(named) } : {}
  if (named && isSameMachine(instanceId, named.status?.nodeInfo?.systemUUID ?? '')) return { node: factsOf(named) }
  const found = [...new Set(spellingsOf(instanceId).flatMap(spelling => nodes.by('machine', spelling)))]
  const [only] = found
  // Two Nodes that claim one machine: neither is known to be the right one.
  if (only && found.length === 1) return { node: factsOf(only) }
  return named ? { namesake: factsOf(named) } : {}
}

/** Our own namespace is being deleted. */
export function isEnding({ namespaces }: Pick<Caches, 'namespaces'>): boolean {
  return namespaces.list().some(({ metadata }) => metadata.deletionTimestamp !== undefined)
}

function twinsOf(caches: Caches, config: NodeConfig, node: NodeFacts | undefined): Twin[] {
  const age = ageOf(config)
  const byAge = rivalsOf(caches, config, node).map(other => ({ other, at: ageOf(other) }))
  byAge.sort((a, b) => (a.at < b.at ? -1 : 1))
  return byAge.map(({ other, at }) => ({
    name: other.metadata.name,
    older: at < age,
    deleting: other.metadata.deletionTimestamp !== undefined,
    ...(isEntry(other) && { entry: true as const }),
  }))
}

/** Other configs that name the same node. */
function rivalsOf({ configs, nodes }: Caches, config: NodeConfig, node: NodeFacts | undefined): NodeConfig[] {
  const machineIn = (one: NodeConfig) =>
    instanceIdOf(one) || nodes.get(one.spec.nodeName)?.status?.nodeInfo?.systemUUID || ''
  const machine = instanceIdOf(config) || node?.systemUUID || ''
  const same = [
    ...[config.spec.nodeName, node?.name ?? ''].flatMap(name => configs.by('node', name)),
    ...spellingsOf(machine).flatMap(spelling => configs.by('machine', spelling)),
  ]
  return [...new Set(same)].filter(other => {
    if (other.metadata.uid === config.metadata.uid) return false
    // The name in a MultiNicBizConfig is a hint: only the machine counts.
    return !(isEntry(other) || isEntry(config)) || isSameMachine(machineIn(other), machine)
  })
}

/** Keys of the configs that wait behind this one, or would: none unless it is the one that has the node. */
export function keysBehind(caches: Caches, config: NodeConfig): string[] {
  if (config.metadata.deletionTimestamp) return []
  const rivals = rivalsOf(caches, config, machineOf(caches, config).node)
  const age = ageOf(config)
  const isBehind = rivals.some(other => !other.metadata.deletionTimestamp && ageOf(other) < age)
  return isBehind ? [] : rivals.map(keyOf)
}

/** The smaller text is the older config; an entry of a MultiNicBizConfig is younger than any other. */
function ageOf(config: NodeConfig): string {
  return `${isEntry(config) ? 1 : 0} ${config.metadata.creationTimestamp ?? ''} ${config.metadata.name}`
}

function jobsOn({ caches, memory, troubles }: View, node: string, machine: string, now: number): AgentJob[] {
  const jobs = [
    ...memory.jobsOn(node),
    ...spellingsOf(machine).flatMap(spelling => caches.jobs.by('instance', spelling)),
  ]
  const known = new Set(jobs.map(job => job.metadata.uid))
  const orphans = caches.pods.by('node', node).filter(pod => !known.has(jobUidOf(pod)) && !endingOf(pod))
  const own = jobs.map(job => {
    const facts = agentJobFrom(job, caches, now)
    const trouble = facts.phase === 'waiting' ? (facts.trouble ?? troubles.of(facts.uid)) : undefined
    return trouble ? { ...facts, trouble } : facts
  })
  return [...own, ...orphans.map(leftOver)]
}

/** A Pod whose Job is deleted and which has not ended: nobody else may start on its node. */
function leftOver(pod: PodObject): AgentJob {
  return {
    name: pod.metadata.labels?.['job-name'] ?? pod.metadata.name,
    uid: '',
    action: 'apply',
    configUid: '',
    generation: 0,
    specHash: '',
    bootID: '',
    attempt: 0,
    podUids: [pod.metadata.uid ?? ''],
    createdAt: Date.parse(pod.metadata.creationTimestamp ?? '') || 0,
    phase: hasStarted(pod) ? 'running' : 'waiting',
  }
}

/** A Job that ended and whose Pod the other watch has not shown yet gets this long. */
const podMayLagMs = 3_000

/** How far a Job is, without a look at what its agent reported. */
export function progressOf(job: JobObject, { pods }: Pick<Caches, 'pods'>, now: number) {
  const { uid, creationTimestamp } = job.metadata
  const own = uid ? pods.by('job', uid) : []
  const finish = finishOf(job)
  const endings = own.map(endingOf)
  const good = endings.find(ending => ending?.exitCode === 0)
  const ended = good !== undefined || (finish !== undefined && endings.every(ending => ending !== undefined))
  const phase: AgentJob['phase'] = ended ? 'ended' : own.some(hasStarted) ? 'running' : 'waiting'
  const told = good ?? endings.find(ending => ending?.message) ?? endings[0]
  return { own, finish, told, phase, createdAt: Date.parse(creationTimestamp ?? '') || now }
}

export function agentJobFrom(job: JobObject, caches: Pick<Caches, 'pods'>, now: number): AgentJob {
  const { annotations = {}, labels = {}, name, uid = '' } = job.metadata
  const { own, finish, told, phase, createdAt } = progressOf(job, caches, now)
  const traceparent = annotations[jobAnnotations.traceparent]
  const facts: AgentJob = {
    name,
    uid,
    action: actionOf(labels[jobLabels.action]),
    configUid: labels[jobLabels.configUid] ?? '',
    generation: Number(annotations[jobAnnotations.generation] ?? 0),
    specHash: annotations[jobAnnotations.specHash] ?? '',
    bootID: annotations[jobAnnotations.bootId] ?? '',
    attempt: Number(annotations[jobAnnotations.attempt] ?? 0),
    podUids: own.flatMap(pod => pod.metadata.uid ?? []),
    createdAt,
    phase,
    ...(traceparent && { traceparent }),
  }
  if (phase !== 'ended') {
    // A Pod that the node refused is forgotten when the next one runs.
    const telling = phase === 'running' ? own.filter(hasStarted) : own
    const trouble = telling.map(troubleOf).find(found => found !== undefined)
    return { ...facts, ...(trouble && { trouble }) }
  }

  const endedAt = Date.parse(told?.finishedAt ?? finish?.at ?? '') || now
  // Of another machine, whose clock may be far ahead.
  const since = Math.abs(now - (Date.parse(finish?.at ?? '') || now))
  if (!told && finish?.complete && since < podMayLagMs)
    return { ...facts, phase: 'running', lookAgainMs: podMayLagMs - since }
  const expected = { node: nodeOf(job), mode: facts.action, generation: facts.generation, specHash: facts.specHash }
  return {
    ...facts,
    endedAt,
    // Most looks are at a Job whose result is taken already.
    get result() {
      return told ? readReport(told, expected) : { lost: finish?.message || 'its Pod is gone, and the report with it' }
    },
  }
}

function actionOf(label: string | undefined): Action {
  return label === 'cleanup' || label === 'check' ? label : 'apply'
}

function hasStarted({ status }: PodObject): boolean {
  const [agent] = status?.containerStatuses ?? []
  return Boolean(agent && (agent.state?.running || agent.state?.terminated || agent.lastState?.terminated))
}

function troubleOf({ status }: PodObject): Trouble | undefined {
  const [agent] = status?.containerStatuses ?? []
  const { reason = '', message = '' } = agent?.state?.waiting ?? {}
  const said = (text: string) => [reason, text].filter(Boolean).join(': ')
  if (/Image/.test(reason)) return { reason: 'ImagePullFailed', message: said(message) }
  if (/^(CreateContainer|RunContainer)/.test(reason)) return { reason: 'MountFailed', message: said(message) }
  if (/^(OutOf|Evicted)/.test(status?.reason ?? ''))
    return { reason: 'NodeOutOfResources', message: [status?.reason, status?.message].filter(Boolean).join(': ') }
  return undefined
}

/** Jobs of a config that is gone. */
export function jobsLeftBy({ caches }: View, { namespace, name }: Key, now: number): AgentJob[] {
  const own = caches.jobs.by('config', name).filter(job => job.metadata.namespace === namespace)
  return own.map(job => agentJobFrom(job, caches, now))
}

/** Configs that may care about a machine. */
export function configsOf({ configs }: Pick<Caches, 'configs'>, nodeName: string, systemUUID = ''): NodeConfig[] {
  const found = [
    ...configs.by('node', nodeName),
    ...spellingsOf(systemUUID).flatMap(spelling => configs.by('machine', spelling)),
  ]
  return [...new Set(found)]
}
