/**
 * Collects everything the planner needs about one config from the caches, without a request.
 */
import { agentRolloutOf } from '../contract/node-config.ts'
import type { Key } from '../kube/types.ts'
import { agentJobFrom, jobFromOrphanedPod } from './agent-jobs.ts'
import { type Caches, jobUidOf } from './caches.ts'
import type { AgentSettings } from './config.ts'
import type { Definitions } from './definitions.ts'
import type { Deletions } from './deletions.ts'
import { agentHashOf } from './job.ts'
import type { JobRates } from './job-rates.ts'
import type { LatestState } from './latest-state.ts'
import { spellingsOf } from './machine.ts'
import { duplicatesOf, findNode } from './node-claims.ts'
import type { OwnStatuses } from './own-status.ts'
import { isPaused } from './plan/config-status.ts'
import type { AgentJob, Observed, Policy } from './plan/observed.ts'
import type { PodStartErrors } from './pod-start-errors.ts'
import { exitOf } from './report.ts'
import type { Rollout } from './rollout.ts'

export interface ObserveSources {
  caches: Caches
  latest: LatestState
  rollout: Pick<Rollout, 'slotFor' | 'checkLimitReached'>
  rates: JobRates
  statuses: Pick<OwnStatuses, 'of'>
  deletions: Deletions
  definitions: Pick<Definitions, 'of'>
  podStartErrors: Pick<PodStartErrors, 'of'>
  agent: AgentSettings
  policy: Policy
}

/** Undefined when there is no such config. */
export function observe(sources: ObserveSources, key: string, now: number): Observed | undefined {
  const { caches, latest, statuses, rates, rollout, deletions, definitions, policy } = sources
  const stored = latest.config(key)
  if (!stored) return undefined
  const config = statuses.of(stored)
  const { node, otherMachine, twins } = findNode(caches, config)
  const name = node?.name ?? config.spec.nodeName
  return {
    config,
    ...(stored !== config && { stored }),
    now,
    ...(node && { node }),
    ...(otherMachine && { otherMachine }),
    ...(twins && { twins }),
    duplicates: duplicatesOf(caches, config, node),
    jobs: jobsOn(sources, name, node?.systemUUID ?? '', now),
    // Computed on demand: most plans do not depend on it.
    get rollout() {
      return rollout.slotFor(key, now)
    },
    get cleanupSlot() {
      return rollout.slotFor(key, now, { despiteFailures: true })
    },
    definition: definitions.of(config, now),
    deletionApproval: deletions.approval(),
    get isOneOfMany() {
      return deletions.isOneOfMany(config)
    },
    namespaceDeleting: isNamespaceDeleting(caches),
    namespacePaused: caches.namespaces.list().some(isPaused),
    get checkLimitReached() {
      return rollout.checkLimitReached()
    },
    get checkRateReached() {
      return rates.isReached('check')
    },
    get retryRateReached() {
      return rates.isReached('retry')
    },
    restoredAt: caches.configs.restoredAt(),
    get checkIntervalMs() {
      return rates.checkIntervalMs()
    },
    get agentHash() {
      return agentHashOf(sources.agent, node, podSecurityOf(caches))
    },
    agentRollout: caches.namespaces.list().map(agentRolloutOf)[0],
    policy,
  }
}

export function isNamespaceDeleting({ namespaces }: Pick<Caches, 'namespaces'>): boolean {
  return namespaces.list().some(({ metadata }) => metadata.deletionTimestamp !== undefined)
}

/** The labels of Pod Security: with other ones, Kubernetes may admit a Pod that it rejected. */
function podSecurityOf({ namespaces }: Pick<Caches, 'namespaces'>): object {
  return namespaces.list().map(({ metadata }) => metadata.labels ?? {})
}

/** Jobs of a config that no longer exists. */
export function jobsOfDeletedConfig({ caches }: ObserveSources, { namespace, name }: Key, now: number): AgentJob[] {
  const own = caches.jobs.by('config', name).filter(job => job.metadata.namespace === namespace)
  return own.map(job => agentJobFrom(job, caches, now))
}

function jobsOn(
  { caches, latest, podStartErrors }: ObserveSources,
  node: string,
  machine: string,
  now: number,
): AgentJob[] {
  const jobs = [
    ...latest.jobsOn(node),
    ...spellingsOf(machine).flatMap(spelling => caches.jobs.by('instance', spelling)),
  ]
  const known = new Set(jobs.map(job => job.metadata.uid))
  const orphans = caches.pods.by('node', node).filter(pod => !known.has(jobUidOf(pod)) && !exitOf(pod))
  const own = jobs.map(job => {
    const facts = agentJobFrom(job, caches, now)
    const error = facts.phase === 'waiting' && !facts.podStartError ? podStartErrors.of(facts) : undefined
    return error ? { ...facts, podStartError: error } : facts
  })
  return [...own, ...orphans.map(jobFromOrphanedPod)]
}
