/**
 * Executes decisions in one cluster: server-side apply of spec and labels with limited concurrency. Every node has an outcome
 * of its own.
 */
import { type NodeConfig, nodeConfigAnnotations } from '../contract/node-config.ts'
import type { ViolaResult } from '../contract/viola.ts'
import { isConflict, isRetryable, kubeErrorIn } from '../kube/errors.ts'
import { messageOf } from '../runtime/errors.ts'
import { type AppliedObject, type Cluster, fieldManager } from './cluster/cluster.ts'
import {
  appliedObject,
  type Decision,
  type PlanContext,
  planNodeConfig,
  type RequestedNode,
  toViolaNode,
} from './plan.ts'
import type { RequestTrace } from './request-trace.ts'

export interface Outcome extends ViolaResult {
  objectName: string
  cause?: 'refused' | 'unreachable'
  /** The object in the cluster, with a conflict. */
  existing?: NodeConfig
}

export interface ApplyOptions {
  context: PlanContext
  parallel: number
  /** Take over fields of every other field manager. */
  force: boolean
  trace?: RequestTrace | undefined
}

export async function applyDecisions(
  cluster: Cluster,
  decisions: readonly Decision[],
  options: ApplyOptions,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  let unreachable: string | undefined
  let next = 0
  async function worker(): Promise<void> {
    while (next < decisions.length) {
      const index = next++
      const decision = decisions[index]
      if (!decision) return
      // No further writes to an unreachable cluster: each timeout would delay the response.
      if (unreachable !== undefined && isWrite(decision))
        outcomes[index] = failed(decision.node, unreachable, 'unreachable')
      else outcomes[index] = await execute(cluster, decision, options)
      if (outcomes[index].cause === 'unreachable') unreachable ??= outcomes[index].message
    }
  }
  await Promise.all(Array.from({ length: Math.min(options.parallel, decisions.length) }, worker))
  return outcomes
}

async function execute(cluster: Cluster, decision: Decision, options: ApplyOptions): Promise<Outcome> {
  const { node } = decision
  try {
    if (!isWrite(decision)) return withoutWrite(decision)
    return node.expectedSpecHash === undefined
      ? await write(cluster, decision, options)
      : await writeGuarded(cluster, decision, options)
  } catch (error) {
    if (isConflict(error)) return { nodeName: node.nodeName, objectName: node.objectName, ...conflict(error) }
    return failed(node, messageOf(error), isUnreachable(error) ? 'unreachable' : 'refused')
  }
}

type Write = Extract<Decision, { do: 'create' | 'update' }>

function isWrite(decision: Decision): decision is Write {
  return decision.do === 'create' || decision.do === 'update'
}

/**
 * A write with an expected hash applies only to the object that the plan has seen. If the object changed since, even only in
 * its status, it is read and planned again.
 */
async function writeGuarded(cluster: Cluster, first: Write, options: ApplyOptions): Promise<Outcome> {
  let decision: Decision = first
  // A create has no object to compare with: read again to keep the race short.
  if (first.do === 'create') decision = await planAgain(cluster, first.node, options)
  for (let attempt = 1; ; attempt++) {
    if (!isWrite(decision)) return withoutWrite(decision)
    try {
      return await write(cluster, decision, options)
    } catch (error) {
      if (!isConflict(error) || managersIn(error).length > 0 || attempt >= 5) throw error
      decision = await planAgain(cluster, decision.node, options)
    }
  }
}

async function planAgain(cluster: Cluster, node: RequestedNode, options: ApplyOptions): Promise<Decision> {
  return planNodeConfig(node, await cluster.read(node.objectName), options.context)
}

async function write(cluster: Cluster, decision: Write, options: ApplyOptions): Promise<Outcome> {
  const { node } = decision
  const existing = decision.do === 'update' ? decision.existing : undefined
  const object = appliedObject(node, options.context, existing)
  const { uid, resourceVersion } = (node.expectedSpecHash !== undefined && existing?.metadata) || {}
  const guard = { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) }
  const trace = options.trace?.write(node)
  const annotations = trace && { [nodeConfigAnnotations.traceparent]: trace.traceparent }
  const body = { ...object, metadata: { ...object.metadata, ...(annotations && { annotations }), ...guard } }
  const applied = await applyOrTakeOver(cluster, body, options.force).catch(error => {
    trace?.end('apply failed')
    throw error
  })
  trace?.end()
  const created = decision.do === 'create' && (applied.metadata.generation ?? 1) <= 1
  const isUnchanged = existing !== undefined && existing.metadata.resourceVersion === applied.metadata.resourceVersion
  return {
    nodeName: node.nodeName,
    objectName: node.objectName,
    action: created ? 'created' : isUnchanged ? 'unchanged' : 'updated',
    specHash: node.specHash,
  }
}

/** Applies again with force if only kubectl owns the conflicting fields, or if the object was restored. */
async function applyOrTakeOver(cluster: Cluster, body: AppliedObject, force: boolean): Promise<NodeConfig> {
  try {
    return await cluster.apply(body, force)
  } catch (error) {
    const managers = managersIn(error)
    if (managers.length === 0) throw error
    if (!managers.every(isKubectl) && !(await isRestored(cluster, body.metadata.name, managers))) throw error
    return cluster.apply(body, true)
  }
}

/**
 * A restore or another client created the object, so that Viola owns none of its fields. A controller that applies the
 * object owns its fields on purpose. Once adopted, Viola owns fields: whoever changes them then causes a conflict.
 */
async function isRestored(cluster: Cluster, objectName: string, conflicting: readonly string[]): Promise<boolean> {
  const managers = await cluster.fieldManagers(objectName)
  return managers.every(
    ({ name, operation }) => name !== fieldManager && !(operation === 'Apply' && conflicting.includes(name)),
  )
}

function withoutWrite(decision: Exclude<Decision, Write>): Outcome {
  const { node, existing } = decision
  const names = { nodeName: node.nodeName, objectName: node.objectName }
  const specHash = existing ? toViolaNode(existing).specHash : ''
  return decision.do === 'nothing'
    ? { ...names, action: 'unchanged', specHash }
    : { ...names, action: 'conflict', message: decision.message, specHash, ...(existing && { existing }) }
}

function failed(node: RequestedNode, message: string, cause: 'refused' | 'unreachable'): Outcome {
  return { nodeName: node.nodeName, objectName: node.objectName, action: 'failed', message, cause }
}

function conflict(error: unknown): Pick<Outcome, 'action' | 'message'> {
  const causes = kubeErrorIn(error)?.details?.causes ?? []
  const fields = causes.map(({ field, message }) => `${field ?? 'a field'}: ${message ?? 'conflict'}`)
  return { action: 'conflict', message: fields.length > 0 ? fields.join('; ') : messageOf(error) }
}

/** Field managers of the conflicting fields of a server-side apply. */
function managersIn(error: unknown): string[] {
  const causes = isConflict(error) ? (kubeErrorIn(error)?.details?.causes ?? []) : []
  return causes
    .filter(({ reason }) => reason === 'FieldManagerConflict')
    .map(({ message }) => /conflict with "([^"]*)"/.exec(message ?? '')?.[1] ?? '')
}

/** Viola takes over fields of kubectl and fields from before server-side apply, but not those of another controller. */
function isKubectl(manager: string): boolean {
  return manager === fieldManager || manager === 'before-first-apply' || /^kubectl(-|$)/.test(manager)
}

/** No response, or a response such as 429 or 503. Every other error is a refusal. */
export function isUnreachable(error: unknown): boolean {
  return isRetryable(error)
}
