/**
 * What one pass over the node came to. The report is made from the results of all passes.
 */

import { onlyBound, pastMarks, withoutMarks } from '../contract/routing-messages.ts'
import type { Failure, Failures } from './apply/apply.ts'
import { fileChangesOf } from './apply/files.ts'
import { filesThatLose, foreignFiles, unreadable } from './backends/boot-order.ts'
import { filesFor } from './backends/files.ts'
import { ownedNics, ownFiles } from './backends/owned.ts'
import type { AgentContext } from './context.ts'
import type { Paths } from './paths.ts'
import { nodeDifferences, nodeGroup } from './plan/node-routing.ts'
import type { Plan } from './plan/plan.ts'
import { describeTakeOver, whyNotHandedOver } from './plan/take-over.ts'
import { summarize } from './state/difference.ts'
import type { Observed } from './state/observed.ts'
import { ownedNicOf } from './state/ownership.ts'
import { applyUnitOf, type Unit } from './state/unit.ts'
import { differences, fileDifferences } from './verify/verify.ts'

export interface PassResult {
  plan: Plan
  observed: Observed
  /** Interfaces that were rolled back or differ from the request, by index. */
  failed: Map<number, Failure>
  /** Number of committed changes. */
  changed: number
  /** Number of committed changes of each interface, by index. */
  changesOf: Map<number, number>
  /** Names of removed interfaces, and the paths of their files. */
  removed: string[]
  /** Names of the interfaces that were rolled back. */
  rolledBack: string[]
  /** Orphaned interfaces that are still there. */
  notRemoved: { name: string; failure: Failure }[]
  /** What fails nothing and is worth reporting, by index: missing replies and foreign rules. */
  notes: Map<number, string>
  applyMs: number
  verifyMs: number
  /** Milliseconds since 1970; absent when nothing was applied. */
  applyStartedAt?: number
}

interface Changes {
  failures?: Failures
  committed?: readonly Unit[]
  notes?: ReadonlyMap<number, string>
  /** Unchanged interfaces whose gateway or peer does not reply. */
  unreachable?: ReadonlyMap<number, Failure>
}

/** `observed` is the node after the pass. */
export function passResult(
  plan: Plan,
  observed: Observed,
  { paths, log }: AgentContext,
  { failures = new Map(), committed = [], notes = new Map(), unreachable = new Map() }: Changes = {},
): PassResult {
  const failed = new Map<number, Failure>(unreachable)
  const rolledBack: string[] = []
  const notRemoved = plan.unremovable.map(({ name, refusal }) => ({ name, failure: refusal }))
  for (const { index, name, purpose, group } of plan.units) {
    const failure = failures.get(group)
    if (!failure) continue
    log.error('apply failed, rolled back', { interface: name, purpose, failure })
    rolledBack.push(name)
    if (purpose === 'node') continue
    if (purpose === 'apply') failed.set(index, failure)
    else notRemoved.push({ name, failure })
  }
  const removed = committed.filter(unit => unit.purpose === 'remove')
  return {
    plan,
    observed,
    failed: withNode(
      withDifferences(withNodeFailure(failed, plan, failures.get(nodeGroup)), plan, observed, paths),
      plan,
      observed,
      paths,
    ),
    changed: committed.reduce((sum, unit) => sum + unit.changes.length, 0),
    changesOf: new Map(
      committed.filter(unit => unit.purpose === 'apply').map(unit => [unit.index, unit.changes.length]),
    ),
    removed: removed.flatMap(unit => [
      unit.name,
      ...fileChangesOf(unit).flatMap(({ path }) => (path.startsWith(paths.state) ? [] : path)),
    ]),
    rolledBack,
    notRemoved,
    notes: withoutTables(
      withOnlyBound(withTakeOver(withForeignRules(notes, plan), committed, plan, observed, paths), plan),
      plan,
      observed,
    ),
    applyMs: 0,
    verifyMs: 0,
  }
}

/** What was taken over, whose files lose at boot, and what a live client may take back. */
function withTakeOver(
  notes: ReadonlyMap<number, string>,
  committed: readonly Unit[],
  { accepted, backend }: Plan,
  observed: Observed,
  paths: Paths,
): Map<number, string> {
  const all = new Map(notes)
  const ours = ownFiles(paths)
  const foreign = foreignFiles(observed, paths, ours)
  const unread = unreadable(observed, paths, ours)
  const owned = foreign.length > 0 ? ownedNics(observed, paths) : []
  for (const { nic, link } of accepted) {
    const unit = applyUnitOf(committed, nic.index)
    // A file may appear at any time, so this asks for unchanged NICs too.
    const former = ownedNicOf(owned, nic)?.record?.former?.name
    const names = [nic.name, link.name, ...link.altnames, ...(former === undefined ? [] : [former])]
    const files = filesThatLose(nic, names, foreign)
    const texts = [
      unit && describeTakeOver(unit.changes),
      ...files.map(path => `${path} configures this NIC too, but the files of multinic win at boot`),
      ...unread.map(path => `cannot read ${path}, which may configure this NIC too`),
      whyNotHandedOver(link, observed, backend.kind),
      all.get(nic.index),
    ]
    const note = texts.filter(text => text !== undefined).join('; ')
    if (note !== '') all.set(nic.index, note)
  }
  return all
}

/** What all NICs share belongs to each of them. Its failure is the cause of packets that take another way. */
function withNodeFailure(
  failed: ReadonlyMap<number, Failure>,
  { accepted }: Plan,
  failure: Failure | undefined,
): Map<number, Failure> {
  const all = new Map(failed)
  for (const { nic } of accepted) if (failure && !all.has(nic.index)) all.set(nic.index, failure)
  return all
}

function withNode(
  failed: ReadonlyMap<number, Failure>,
  plan: Plan,
  observed: Observed,
  paths: Paths,
): Map<number, Failure> {
  if (plan.backend.kind === 'unknown') return new Map(failed)
  return withNodeFailure(failed, plan, summarize(nodeDifferences(plan.node, observed, paths, 'all')))
}

/** Rules and routes work without nftables, and beside a data path that passes it by. */
function withoutTables(
  notes: ReadonlyMap<number, string>,
  { accepted }: Plan,
  { nftError, links }: Observed,
): Map<number, string> {
  const all = new Map(notes)
  const program = links.flatMap(({ name }) => dataPaths.find(([pattern]) => pattern.test(name))?.[1] ?? [])[0]
  const texts = [nftError && withoutMarks(nftError), program && pastMarks(program)].filter(Boolean)
  if (texts.length === 0) return all
  for (const { nic } of accepted)
    if (nic.rules.length > 0) all.set(nic.index, [all.get(nic.index), ...texts].filter(Boolean).join('; '))
  return all
}

/** Devices of programs that forward packets by eBPF. */
const dataPaths: readonly (readonly [RegExp, string])[] = [
  [/^cilium_(host|net)$/, 'Cilium'],
  [/^bpf(in|out)\.cali$/, 'Calico'],
]

/** Networks that the main table does not reach by the NIC. */
function withOnlyBound(notes: ReadonlyMap<number, string>, { accepted }: Plan): Map<number, string> {
  const all = new Map(notes)
  for (const { nic } of accepted) {
    const texts = nic.onlyBound.map(({ network, because }) => onlyBound(network, because))
    if (texts.length > 0) all.set(nic.index, [...(all.has(nic.index) ? [all.get(nic.index)] : []), ...texts].join('; '))
  }
  return all
}

function withForeignRules(notes: ReadonlyMap<number, string>, { foreignRules }: Plan): Map<number, string> {
  const all = new Map(notes)
  for (const [index, rules] of foreignRules) {
    const texts = rules.map(rule => `foreign rule ${rule} left in place`)
    all.set(index, [...(all.has(index) ? [all.get(index)] : []), ...texts].join('; '))
  }
  return all
}

/** Compares every accepted interface that has not failed with the request once more, files included. */
function withDifferences(
  failed: ReadonlyMap<number, Failure>,
  { accepted, backend }: Plan,
  observed: Observed,
  paths: Paths,
): Map<number, Failure> {
  const all = new Map(failed)
  for (const { nic, link, isStale } of accepted) {
    if (failed.has(nic.index) || backend.kind === 'unknown') continue
    const files = filesFor(backend.kind, nic, paths, observed)
    const failure = summarize([
      ...differences(nic, link.ifindex, observed, isStale),
      ...fileDifferences(files, observed),
    ])
    if (failure) all.set(nic.index, failure)
  }
  return all
}
