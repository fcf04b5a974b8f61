/**
 * Agent Jobs as the planner needs them, from Job and Pod objects.
 */
import type { JobObject, PodObject } from '../kube/types.ts'
import { type Caches, finishOf, nodeOf } from './caches.ts'
import { jobAnnotations, jobLabels } from './job.ts'
import type { Action, AgentJob, PodStartError } from './plan/observed.ts'
import { exitOf, readReport } from './report.ts'

/** The Pod watch may lag this long behind the Job watch. */
const podLagMs = 3_000

/** The progress of a Job, without parsing the report of its agent. */
export function progressOf(job: JobObject, { pods }: Pick<Caches, 'pods'>, now: number) {
  const { uid, creationTimestamp } = job.metadata
  const own = uid ? pods.by('job', uid) : []
  const finish = finishOf(job)
  const exits = own.map(exitOf)
  const success = exits.find(exit => exit?.exitCode === 0)
  const ended = success !== undefined || (finish !== undefined && exits.every(exit => exit !== undefined))
  const phase: AgentJob['phase'] = ended ? 'ended' : own.some(hasStarted) ? 'running' : 'waiting'
  const exit = success ?? exits.find(one => one?.message) ?? exits[0]
  return { own, finish, exit, phase, createdAt: Date.parse(creationTimestamp ?? '') || now }
}

export function agentJobFrom(job: JobObject, caches: Pick<Caches, 'pods'>, now: number): AgentJob {
  const { annotations = {}, labels = {}, name, uid = '' } = job.metadata
  const { own, finish, exit, phase, createdAt } = progressOf(job, caches, now)
  const traceparent = annotations[jobAnnotations.traceparent]
  const agentHash = annotations[jobAnnotations.agentHash]
  const agentRollout = annotations[jobAnnotations.agentRollout]
  const facts: AgentJob = {
    name,
    uid,
    action: actionOf(labels[jobLabels.action]),
    configUid: labels[jobLabels.configUid] ?? '',
    generation: Number(annotations[jobAnnotations.generation] ?? 0),
    specHash: annotations[jobAnnotations.specHash] ?? '',
    bootID: annotations[jobAnnotations.bootID] ?? '',
    attempt: Number(annotations[jobAnnotations.attempt] ?? 0),
    podUids: own.flatMap(pod => pod.metadata.uid ?? []),
    createdAt,
    phase,
    ...(agentHash && { agentHash }),
    ...(agentRollout && { agentRollout }),
    ...(traceparent && { traceparent }),
  }
  if (phase !== 'ended') {
    // Once a Pod runs, errors of the Pods before it no longer matter.
    const relevant = phase === 'running' ? own.filter(hasStarted) : own
    const podStartError = relevant.map(podStartErrorOf).find(found => found !== undefined)
    const restartsAfter = relevant.some(isRunning) ? undefined : relevant.map(lastExitCode).find(Boolean)
    return { ...facts, ...(podStartError && { podStartError }), ...(restartsAfter && { restartsAfter }) }
  }

  const endedAt = Date.parse(exit?.finishedAt ?? finish?.at ?? '') || now
  // The timestamp comes from another machine, whose clock may be ahead.
  const elapsed = Math.abs(now - (Date.parse(finish?.at ?? '') || now))
  if (!exit && finish?.complete && elapsed < podLagMs)
    return { ...facts, phase: 'running', recheckAfterMs: podLagMs - elapsed }
  const expected = { node: nodeOf(job), mode: facts.action, generation: facts.generation, specHash: facts.specHash }
  return {
    ...facts,
    endedAt,
    // Parsed on demand: most plans read a Job whose result is in the status already.
    get result() {
      return exit
        ? readReport(exit, expected)
        : { missing: finish?.message || 'its Pod is gone, and the report with it' }
    },
  }
}

/** A running Pod whose Job was deleted: no other agent may start on its node. */
export function jobFromOrphanedPod(pod: PodObject): AgentJob {
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

function actionOf(label: string | undefined): Action {
  return label === 'cleanup' || label === 'check' ? label : 'apply'
}

function hasStarted({ status }: PodObject): boolean {
  const [agent] = status?.containerStatuses ?? []
  return Boolean(agent && (agent.state?.running || agent.state?.terminated || agent.lastState?.terminated))
}

function isRunning({ status }: PodObject): boolean {
  return status?.containerStatuses?.[0]?.state?.running !== undefined
}

function lastExitCode({ status }: PodObject): number | undefined {
  const [agent] = status?.containerStatuses ?? []
  return (agent?.state?.terminated ?? agent?.lastState?.terminated)?.exitCode
}

function podStartErrorOf({ status }: PodObject): PodStartError | undefined {
  const [agent] = status?.containerStatuses ?? []
  const { reason = '', message = '' } = agent?.state?.waiting ?? {}
  const text = [reason, message].filter(Boolean).join(': ')
  const last = agent?.state?.terminated ?? agent?.lastState?.terminated
  if (!agent?.state?.running && last?.reason === 'OOMKilled')
    return { reason: 'AgentOutOfMemory', message: `the agent was killed (OOMKilled, exit code ${last.exitCode})` }
  if (reason === 'CrashLoopBackOff')
    return {
      reason: 'AgentCrashed',
      message: [`the agent crashes (exit code ${last?.exitCode ?? 'unknown'})`, last?.message?.trim().slice(0, 300)]
        .filter(Boolean)
        .join(': '),
    }
  if (/Image/.test(reason)) return { reason: 'ImagePullFailed', message: text }
  if (/^(CreateContainer|RunContainer)/.test(reason)) return { reason: 'MountFailed', message: text }
  if (/^(OutOf|Evicted)/.test(status?.reason ?? ''))
    return { reason: 'NodeOutOfResources', message: [status?.reason, status?.message].filter(Boolean).join(': ') }
  return undefined
}
