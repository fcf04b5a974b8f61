/**
 * Carries decisions out in one cluster: server-side apply of spec and labels, a bounded number at a time, and one
 * outcome for every node whatever happens to the others.
 */
import { type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import type { ViolaResult } from '../contract/viola.ts'
import { isConflict, isRetryable, kubeErrorIn } from '../kube/errors.ts'
import { messageOf } from '../runtime/errors.ts'
import { type AppliedObject, type Cluster, fieldManager } from './cluster/cluster.ts'
import { appliedObject, type Decision, heldNode, type PlanContext, planNodeConfig, type WantedNode } from './plan.ts'
import type { RequestTrace } from './request-trace.ts'

export interface Outcome extends ViolaResult {
  objectName: string
  /** Why it failed: the cluster said no, or said nothing. */
  cause?: 'refused' | 'away'
  /** What the cluster holds instead, with a conflict. */
  held?: NodeConfig
}

export interface ApplyOptions {
  context: PlanContext
  parallel: number
  /** Takes fields over from any other manager. */
  force: boolean
  trace?: RequestTrace | undefined
}

export async function applyDecisions(
  cluster: Cluster,
  decisions: readonly Decision[],
  options: ApplyOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let away: string | undefined
  let next = 0
  async function worker(): Promise<void> {
    while (next < decisions.length) {
      const index = next++
      const decision = decisions[index]
      if (!decision) return
      // A cluster that is away is not asked once for every node: each time-out would delay the answer.
      if (away !== undefined && isWrite(decision)) outcomes[index] = failed(decision.node, away, 'away')
      else outcomes[index] = await carryOut(cluster, decision, options)
      if (outcomes[index].cause === 'away') away ??= outcomes[index].message
    }
  }
  await Promise.all(Array.from({ length: Math.min(options.parallel, decisions.length) }, worker))
  return outcomes
}

async function carryOut(cluster: Cluster, decision: Decision, options: ApplyOptions): Promise<Outcome> {
  const { node } = decision
  try {
    if (!isWrite(decision)) return settled(decision)
    return node.expectedSpecHash === undefined
      ? await write(cluster, decision, options)
      : await writeGuarded(cluster, decision, options)
  } catch (error) {
    if (isConflict(error)) return { nodeName: node.nodeName, objectName: node.objectName, ...conflict(error) }
    return failed(node, messageOf(error), isAway(error) ? 'away' : 'refused')
  }
}

type Write = Extract<Decision, { do: 'create' | 'update' }>

function isWrite(decision: Decision): decision is Write {
  return decision.do === 'create' || decision.do === 'update'
}

/**
 * The caller named the state that it planned on: the write is bound to the object that was looked at. One that moved
 * on meanwhile, if only by its status, is looked at and decided about again.
 */
async function writeGuarded(cluster: Cluster, first: Write, options: ApplyOptions): Promise<Outcome> {
  let decision: Decision = first
  // Nothing can be bound to an object that is not there: at least the look is a fresh one.
  if (first.do === 'create') decision = await lookAgain(cluster, first.node, options)
  for (let attempt = 1; ; attempt++) {
    if (!isWrite(decision)) return settled(decision)
    try {
      return await write(cluster, decision, options)
    } catch (error) {
      if (!isConflict(error) || managersIn(error).length > 0 || attempt >= 5) throw error
      decision = await lookAgain(cluster, decision.node, options)
    }
  }
}

async function lookAgain(cluster: Cluster, node: WantedNode, options: ApplyOptions): Promise<Decision> {
  return planNodeConfig(node, await cluster.read(node.objectName), options.context)
}

async function write(cluster: Cluster, decision: Write, options: ApplyOptions): Promise<Outcome> {
  const { node } = decision
  const held = decision.do === 'update' ? decision.held : undefined
  const object = appliedObject(node, options.context.providerId, held)
  const { uid, resourceVersion } = (node.expectedSpecHash !== undefined && held?.metadata) || {}
  const guard = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const trace = options.trace?.write(node)
  const annotations = trace && { [nodeConfigAnnotations.traceparent]: trace.traceparent }
  const body = { ...object, metadata: { ...object.metadata, ...(annotations && { annotations }), ...guard } }
  const now = await applyOver(cluster, body, options.force).catch(error => {
    trace?.end('the cluster refused it')
    throw error
  })
  trace?.end()
  const created = decision.do === 'create' && (now.metadata.generation ?? 1) <= 1
  const same = held !== undefined && held.metadata.resourceVersion === now.metadata.resourceVersion
  return {
    nodeName: node.nodeName,
    objectName: node.objectName,
    action: created ? 'created' : same ? 'unchanged' : 'updated',
    specHash: node.specHash,
  }
}

/** Once more by force where only people stand in the way. */
function applyOver(cluster: Cluster, body: AppliedObject, force: boolean): Promise<NodeConfig> {
  return cluster.apply(body, force).catch(error => {
    const managers = managersIn(error)
    if (managers.length === 0 || !managers.every(isPerson)) throw error
    return cluster.apply(body, true)
  })
}

function settled(decision: Exclude<Decision, Write>): Outcome {
  const { node, held } = decision
  const at = { nodeName: node.nodeName, objectName: node.objectName }
  const specHash = held ? heldNode(held).specHash : ''
  return decision.do === 'nothing'
    ? { ...at, action: 'unchanged', specHash }
    : { ...at, action: 'conflict', message: decision.message, specHash, ...(held && { held }) }
}

function failed(node: WantedNode, message: string, cause: 'refused' | 'away'): Outcome {
  return { nodeName: node.nodeName, objectName: node.objectName, action: 'failed', message, cause }
}

function conflict(error: unknown): Pick<Outcome, 'action' | 'message'> {
  const causes = kubeErrorIn(error)?.details?.causes ?? []
  const fields = causes.map(({ field, message }) => `${field ?? 'a field'}: ${message ?? 'conflict'}`)
  return { action: 'conflict', message: fields.length > 0 ? fields.join('; ') : messageOf(error) }
}

/** The field managers that a server-side apply ran into. */
function managersIn(error: unknown): string[] {
  const causes = isConflict(error) ? (kubeErrorIn(error)?.details?.causes ?? []) : []
  return causes
    .filter(({ reason }) => reason === 'FieldManagerConflict')
    .map(({ message }) => /conflict with "([^"]*)"/.exec(message ?? '')?.[1] ?? '')
}

/**
 * Fields that kubectl made, or that are older than server-side apply, are taken over: the API is the one that decides.
 * Those of a controller are not.
 */
function isPerson(manager: string): boolean {
  return manager === fieldManager || manager === 'before-first-apply' || /^kubectl(-|$)/.test(manager)
}

/** No answer, or "not now": the cluster is away. Everything else is a refusal. */
export function isAway(error: unknown): boolean {
  return isRetryable(error)
}
