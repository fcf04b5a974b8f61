/**
 * Reads everything for one OpenstackConfig and decides, without changing anything: the first half of a sync, and all of a
 * dry run.
 */
import { equalJson } from '../contract/json.ts'
import { type OpenstackConfig, openstackConfigAnnotations } from '../contract/openstack-config.ts'
import { keyOf } from '../kube/keys.ts'
import type { Bus, Clouds } from '../openstack/cloud.ts'
import type { Environment } from '../runtime/env.ts'
import { resolveSettings, type SyncSettings } from './config.ts'
import { type CredentialSources, credentialsFor } from './credentials.ts'
import type { Hints } from './events/cloud-events.ts'
import { askAbout, type CloudFacts, observeCloud, rulesOf } from './observe.ts'
import type { Claim, HeldNode, Observed } from './observed-state.ts'
import { type Plan, planNodes } from './plan.ts'
import type { Policy } from './policy.ts'
import { providerIdOf } from './provider.ts'
import { stage } from './sync-error.ts'
import type { Held, Viola } from './viola-client.ts'
import type { Violas } from './viola-clients.ts'

export interface LookDeps {
  env: Environment
  clouds: Clouds
  violas: Violas
  /** What may be read for one object. */
  sources: (user: string) => CredentialSources
  policy: Policy
  /** Plans, remembering the last one of each object. */
  plans: Plans
  /** The other OpenstackConfigs of a cluster. */
  claims: (providerId: string, source: string) => Claim[]
  /** Does one stage of a sync, and tells how long it took. */
  timed: <T>(stage: SyncStage, work: () => Promise<T>) => Promise<T>
}

export type SyncStage = 'cloud' | 'held' | 'plan' | 'answers' | 'deliver' | 'record' | 'status'

export type Plans = (source: string, observed: Observed) => Plan

/** Of a thousand nodes a plan costs more than reading them: what was planned on the same facts is not planned again. */
export function createPlans(): Plans & { forget(source: string): void } {
  const last = new Map<string, { observed: Observed; plan: Plan }>()
  const plans = (source: string, observed: Observed) => {
    const known = last.get(source)
    if (known && sameFacts(known.observed, observed)) return known.plan
    const plan = planNodes(observed)
    last.set(source, { observed, plan })
    return plan
  }
  return Object.assign(plans, { forget: (source: string) => void last.delete(source) })
}

/** Ports and nodes that have not changed are the very same objects; the rest is small. */
function sameFacts(a: Observed, b: Observed): boolean {
  if (a.held !== b.held || a.ports.length !== b.ports.length) return false
  if (a.ports.some((port, index) => port !== b.ports[index])) return false
  return equalJson(smallFacts(a), smallFacts(b))
}

function smallFacts({ held: _, ports: __, mtus, answers, ...rest }: Observed): object {
  return { ...rest, mtus: [...mtus], answers: [...answers] }
}

export interface Look {
  settings: SyncSettings
  providerId: string
  viola: Viola
  facts: CloudFacts
  bus: Bus | undefined
  observed: Observed
  plan: Plan
  /** Viola tells the state of its nodes. */
  nodesTold: boolean
  /** Questions that could not be asked. */
  questionFailures: string[]
}

export interface LookContext {
  signal: AbortSignal
  /** A person asked for a fresh look. */
  fresh: boolean
  hints: Hints
}

export async function look(
  config: OpenstackConfig,
  deps: LookDeps,
  { signal, fresh, hints }: LookContext,
): Promise<Look> {
  const settings = resolveSettings(deps.env, config.spec.settings)
  deps.policy.check(config, settings)
  const credentials = await credentialsFor(config, settings, deps.sources(keyOf(config)))
  const cloud = deps.clouds.open({
    settings,
    encryptKey: credentials.encryptKey,
    openstackProviderId: config.spec.credentials.openstackProviderID,
    projectId: config.spec.credentials.projectID.replaceAll('-', '').toLowerCase(),
  })
  if (fresh) cloud.refresh()
  else cloud.doubt(hints)
  const providerId = providerIdOf(config)
  const viola = deps.violas.open({ settings, credentials, providerId })

  const facts = await deps.timed('cloud', () => observeCloud(cloud, config.spec, settings, signal))
  const bus = await cloud.bus(signal, hints.busRefused)
  const { nodes: held, told: nodesTold } = await deps.timed('held', () => heldBy(viola, signal))
  const observed: Observed = {
    ...observedFrom(config, settings, facts, held),
    claims: deps.claims(providerId, keyOf(config)),
  }
  const plan = await deps.timed('plan', async () => deps.plans(keyOf(config), observed))
  const first = { settings, providerId, viola, facts, bus, nodesTold, observed, plan, questionFailures: [] }
  if (plan.questions.length === 0) return first
  const { ports, answers, failures } = await deps.timed('answers', () =>
    askAbout(cloud, { questions: plan.questions, facts, deletedPorts: hints.deletedPorts, signal }),
  )
  const wiser = { ...observed, ports: merged(observed.ports, ports), answers }
  return { ...first, observed: wiser, plan: planNodes(wiser), questionFailures: failures }
}

export function heldBy(viola: Viola, signal: AbortSignal): Promise<Held> {
  return stage('ViolaPostError', () => viola.held(signal))
}

function merged(ports: Observed['ports'], more: Observed['ports']): Observed['ports'] {
  const known = new Set(ports.map(port => port.id))
  return [...ports, ...more.filter(port => !known.has(port.id))]
}

function observedFrom(
  config: OpenstackConfig,
  settings: SyncSettings,
  facts: CloudFacts,
  held: readonly HeldNode[],
): Omit<Observed, 'claims'> {
  const { vms, ports, subnets, subnetsById, mtus } = facts
  const release = releaseOf(config)
  return {
    source: keyOf(config),
    rules: rulesOf(settings, config.metadata.creationTimestamp),
    subnets,
    subnetsById,
    mtus,
    vms,
    ports,
    held,
    answers: new Map(),
    holding: (config.status?.heldRemovals ?? []).length > 0,
    release: release !== undefined && release !== config.status?.releasedRemovals,
  }
}

/** A person's word about held removals. */
export function releaseOf({ metadata }: OpenstackConfig): string | undefined {
  return metadata.annotations?.[openstackConfigAnnotations.releaseRemovals]
}
