/**
 * One pass over the node: observe → plan → stage → journal → apply → verify → probe → commit, or undo.
 */
import { parseIp } from '../contract/address.ts'
import { messageOf } from '../runtime/errors.ts'
import type { Log } from '../telemetry/log.ts'
import { applyUnits, type Failure, type Failures, handBackAll } from './apply.ts'
import { inWords } from './change.ts'
import type { Settings } from './config.ts'
import { judge, listen, watching } from './connectivity.ts'
import { askingUnits, findDuplicates } from './duplicate-address.ts'
import { commitFiles, dropStaged, fileChangesOf, stageFiles } from './files.ts'
import type { Host } from './host.ts'
import type { Work } from './input.ts'
import { clearJournal, writeJournal } from './journal.ts'
import type { NetworkManager } from './network-manager.ts'
import { observe, observeDisk, type Question } from './observe.ts'
import type { Observed } from './observed.ts'
import type { Paths } from './paths.ts'
import { type Plan, planRun } from './plan.ts'
import { takeBack } from './recover.ts'
import { rememberRefused } from './refused-altnames.ts'
import { applyNetplan } from './reload.ts'
import { filesFor } from './render/files.ts'
import type { Unit } from './unit.ts'
import { differences, fileDifferences } from './verify.ts'

export interface Ground {
  host: Host
  /** On hosts where it runs. */
  manager?: NetworkManager | undefined
  paths: Paths
  settings: Settings
  work: Work
  log: Log
}

export interface Pass {
  plan: Plan
  observed: Observed
  /** Interfaces that were changed and taken back, or could not be verified. */
  failed: Map<number, Failure>
  changed: number
  removed: string[]
  undone: string[]
  /** Interfaces of ours that should have gone and are still there, with why. */
  stuck: { name: string; failure: Failure }[]
  /** Who did not answer, by interface, where that is only told. */
  notes: Map<number, string>
  /** Milliseconds of applying, and of verifying what came of it. */
  applying: number
  verifying: number
  /** When the applying began, milliseconds since 1970. */
  began?: number
}

/** The kernel takes things away by itself (a link that goes down loses its routes): what is missing is added again. */
const maxRounds = 3

/** NetworkManager acts on what it sees a little later: what holds now must hold then. */
const settleTime = 5_000

/** Milliseconds. Two machines with one IPv6 address find out within about a second. */
const dadTime = 1_000
/** Milliseconds of silence after which an IPv4 address counts as free. */
const silenceTime = 400
const pollEvery = 150

export async function pass(ground: Ground, skip: ReadonlySet<number>): Promise<Pass> {
  const observed = await look(ground)
  const plan = planOn(observed, ground, skip)
  tell(plan, ground.log)
  if (plan.units.length === 0) return settled(plan, observed, ground)

  const failures: Failures = new Map()
  stage(plan.units, ground.host, failures)
  const units = plan.units.filter(unit => !failures.has(unit.group))
  const asking = ground.settings.duplicateCheck ? askingUnits(units, observed) : []
  const made: Unit[] = [...asking, ...units]
  if (!begin(made, observed, ground, failures)) return outcome(plan, { failures, good: [] }, ground, observed)
  const watch = watching(plan, units, ground)
  const [heard, duplicates] = await Promise.all([
    listen({ ...watch, observed }),
    asking.length > 0
      ? findDuplicates(asking, units, { ...ground, observed }, Math.min(silenceTime, ground.settings.probe.timeout))
      : new Map(),
  ])
  merge(failures, duplicates)
  const began = ground.host.now()
  const free = units.filter(unit => !failures.has(unit.group))
  const first = await applyUnits(free, { ...ground, observed })
  merge(failures, first.failures)
  const applying = ground.host.now() - began
  if (first.refusedAltnames.length > 0) remember(first.refusedAltnames, observed, ground)

  const known = unchanged(observed, plan, units, ground)
  let after = await look(ground, known)
  for (let round = 2; round <= maxRounds && unsettled(plan, free, after); round++) {
    const again = kernelOnly(planOn(after, ground, skip).units, units, failures)
    if (again.length === 0) break
    made.push(...again)
    writeJournal(ground.host, ground.paths, { version: 1, bootId: observed.bootId, units: again })
    merge(failures, (await applyUnits(again, { ...ground, observed: after })).failures)
    after = await look(ground, known)
  }
  const [now, settledState] = await Promise.all([
    listen({ ...watch, observed: after, before: heard }),
    whenSettled(after, ground, units),
  ])
  after = settledState
  verifyAll(plan, units, after, failures)
  const notes = judge(units, { observed, after, heard, now, watch, ...ground }, failures)
  const times = { began, applying, verifying: ground.host.now() - began - applying }

  const bad = made.filter(unit => failures.has(unit.group))
  if (bad.length > 0) await takeBack(bad, after, ground, 'kernel')
  for (const unit of bad) dropStaged(ground.host, unit)
  const good = await commit(
    units.filter(unit => !failures.has(unit.group)),
    made,
    ground,
    after,
    failures,
  )
  clearJournal(ground.host, ground.paths)
  if (ground.settings.reload === 'apply' && good.length > 0 && plan.backend.kind === 'netplan') {
    await reload(ground)
    return { ...outcome(plan, { failures, good }, ground, await look(ground)), notes, ...times }
  }
  const asKnown = failures.size === 0 ? { ...after, ...observeDisk(ground.host, ground.paths) } : await look(ground)
  return { ...outcome(plan, { failures, good }, ground, asKnown), notes, ...times }
}

/** The same look and the same plan, with nothing done about it. */
export async function inspect(ground: Ground): Promise<Pass> {
  const observed = await look(ground)
  const plan = planOn(observed, ground, new Set())
  tell(plan, ground.log)
  return settled(plan, observed, ground)
}

/** Nothing is changed that is not in the journal first. */
function begin(units: readonly Unit[], observed: Observed, { host, paths }: Ground, failures: Failures): boolean {
  try {
    writeJournal(host, paths, { version: 1, bootId: observed.bootId, units: [...units] })
    return true
  } catch (error) {
    for (const unit of units) {
      failures.set(unit.group, { reason: 'PersistFailed', message: messageOf(error) })
      dropStagedQuietly(host, unit)
    }
    return false
  }
}

async function look({ host, paths, settings, work, manager }: Ground, known?: Question['known']): Promise<Observed> {
  const macs = work.interfaces.map(nic => nic.macAddress)
  const { apiServer } = settings
  return observe(host, {
    paths,
    macs,
    manager,
    ...(known ? { known } : {}),
    ...(apiServer && parseIp(apiServer) ? { apiServer } : {}),
  })
}

function planOn(observed: Observed, { work, settings, paths }: Ground, skip: ReadonlySet<number>): Plan {
  const interfaces = work.mode === 'cleanup' ? [] : work.interfaces
  return planRun({ interfaces, nodeAddresses: work.nodeAddresses, settings, paths, observed, skip })
}

function merge(failures: Failures, more: Failures): void {
  for (const [group, failure] of more) failures.set(group, failure)
}

function tell(plan: Plan, log: Log): void {
  const devices = plan.accepted.map(({ nic, link }) => `${nic.name} is ${link.name}`)
  log.info('DetectActiveInterfaces', { backend: plan.backend, devices, missing: plan.missing.map(nic => nic.name) })
  const orphans = plan.units.filter(unit => unit.purpose === 'remove')
  if (orphans.length > 0) log.info('CleanupOrphanedConfigs', { orphaned: orphans.map(unit => unit.name) })
  for (const unit of plan.units)
    log.info('plan', { interface: unit.name, purpose: unit.purpose, changes: unit.changes.map(inWords) })
  for (const [id, refusal] of plan.refused) log.warn('refused', { interface: `multinic${id}`, refusal })
  for (const { name, refusal } of plan.kept) log.warn('orphaned, and must stay', { interface: name, refusal })
}

function stage(units: readonly Unit[], host: Host, failures: Failures): void {
  for (const unit of units) {
    try {
      stageFiles(host, unit)
    } catch (error) {
      failures.set(unit.group, { reason: 'PersistFailed', message: messageOf(error) })
    }
  }
  for (const unit of units) if (failures.has(unit.group)) dropStagedQuietly(host, unit)
}

/** The disk that refused to write may refuse this as well; the next run looks for leftovers. */
function dropStagedQuietly(host: Host, unit: Unit): void {
  try {
    dropStaged(host, unit)
  } catch {}
}

/** What a second look still finds to change in the kernel, for NICs of this run that have not failed. */
function kernelOnly(again: readonly Unit[], first: readonly Unit[], failures: Failures): Unit[] {
  return again.flatMap(unit => {
    const known = first.find(entry => entry.name === unit.name && entry.purpose === unit.purpose)
    const changes = unit.changes.filter(change => change.kind !== 'file' && change.kind !== 'altname')
    if (!known || failures.has(known.group) || changes.length === 0) return []
    return [{ ...unit, group: known.group, changes }]
  })
}

function verifyAll(plan: Plan, units: readonly Unit[], after: Observed, failures: Failures): void {
  for (const { nic, link } of plan.accepted) {
    const group = units.find(unit => unit.purpose === 'apply' && unit.id === nic.id)?.group
    if (group === undefined || failures.has(group)) continue
    const found = differences(nic, link.ifindex, after)
    const [first] = found
    if (first) failures.set(group, { reason: first.reason, message: found.map(entry => entry.message).join('; ') })
  }
}

/** The kernel takes its time to find another owner of an IPv6 address, and NetworkManager to act on what it sees. */
async function whenSettled(after: Observed, ground: Ground, units: readonly Unit[]): Promise<Observed> {
  const { host, manager, settings } = ground
  const changed = new Set(units.filter(unit => unit.purpose === 'apply').flatMap(unit => unit.ifindex ?? []))
  if (manager && changed.size > 0) {
    await host.sleep(settleTime)
    return look(ground)
  }
  const asks = (seen: Observed) =>
    seen.addresses.some(entry => entry.tentative && !entry.linkLocal && changed.has(entry.ifindex))
  let seen = after
  for (const until = host.now() + dadTime; settings.duplicateCheck && asks(seen) && host.now() < until; ) {
    await host.sleep(pollEvery)
    seen = await look(ground)
  }
  return seen
}

/** What a change of the kernel leaves as it was: files, and rules of IPv6 where neither we nor NetworkManager have any. */
function unchanged(
  { files, directories, rules }: Observed,
  { accepted }: Plan,
  units: readonly Unit[],
  { manager }: Ground,
): Question['known'] {
  const touched =
    manager !== undefined ||
    accepted.some(({ nic }) => nic.rules.some(rule => rule.family === 6)) ||
    units.some(({ changes }) => changes.some(change => change.kind === 'rule' && change.rule.family === 6))
  return { files, directories, ...(touched ? {} : { rules6: rules.filter(rule => rule.family === 6) }) }
}

/** Reports whether the kernel may need a second round: it takes things away by itself, or something of ours had to go. */
function unsettled(plan: Plan, units: readonly Unit[], after: Observed): boolean {
  return (
    units.some(unit => unit.purpose === 'remove') ||
    plan.accepted.some(({ nic, link }) => differences(nic, link.ifindex, after).length > 0)
  )
}

/** The kernel and the files say the same already: a host that cannot reload keeps its NICs, and is told. */
async function reload({ host, paths, log }: Ground): Promise<void> {
  const failure = await applyNetplan(host, paths)
  if (failure) log.warn('NETWORK_RELOAD=apply was not done', { because: failure })
  else log.info('netplan applied its files')
}

/** Without it the next run asks once more; that is all. */
function remember(
  altnames: readonly string[],
  { bootId, refusedAltnames }: Observed,
  { host, paths, log }: Ground,
): void {
  log.warn('altnames were refused; not asked for again before the next boot', { altnames })
  try {
    rememberRefused(host, paths, { bootId, altnames: [...refusedAltnames, ...altnames] })
  } catch (error) {
    log.warn('the disk did not take it', { error: messageOf(error) })
  }
}

async function commit(
  units: readonly Unit[],
  made: readonly Unit[],
  ground: Ground,
  observed: Observed,
  failures: Failures,
): Promise<Unit[]> {
  for (const unit of units) {
    if (failures.has(unit.group)) continue
    try {
      commitFiles(ground.host, ground.paths, unit)
    } catch (error) {
      failures.set(unit.group, { reason: 'PersistFailed', message: messageOf(error) })
      const together = made.filter(entry => entry.group === unit.group)
      await takeBack(together, await look(ground), ground)
    }
  }
  const good = units.filter(unit => !failures.has(unit.group))
  await handBackAll(good, { ...ground, observed })
  return good
}

function outcome(
  plan: Plan,
  { failures, good }: { failures: Failures; good: readonly Unit[] },
  ground: Ground,
  observed: Observed,
): Pass {
  const failed = new Map<number, Failure>()
  for (const unit of plan.units) {
    const failure = failures.get(unit.group)
    if (!failure) continue
    if (unit.purpose === 'apply') failed.set(unit.id, failure)
    ground.log.error('failed and taken back', { interface: unit.name, purpose: unit.purpose, failure })
  }
  const { failed: differing } = settled(plan, observed, ground, failed)
  const removals = good.filter(unit => unit.purpose === 'remove')
  return {
    plan,
    observed,
    failed: differing,
    changed: good.reduce((sum, unit) => sum + unit.changes.length, 0),
    removed: removals.flatMap(unit => [
      unit.name,
      ...fileChangesOf(unit).flatMap(({ path }) => (path.startsWith(ground.paths.state) ? [] : path)),
    ]),
    undone: plan.units.filter(unit => failures.has(unit.group)).map(unit => unit.name),
    stuck: [...stuckOf(plan), ...plan.units.flatMap(unit => stuckUnit(unit, failures))],
    notes: new Map(),
    applying: 0,
    verifying: 0,
  }
}

function stuckOf(plan: Plan): Pass['stuck'] {
  return plan.kept.map(({ name, refusal }) => ({ name, failure: refusal }))
}

function stuckUnit(unit: Unit, failures: Failures): Pass['stuck'] {
  const failure = failures.get(unit.group)
  return failure && unit.purpose === 'remove' ? [{ name: unit.name, failure }] : []
}

/** Everything accepted and not failed is compared once more, files included. */
function settled(plan: Plan, observed: Observed, { paths }: Ground, failed: Map<number, Failure> = new Map()): Pass {
  const { backend } = plan
  for (const { nic, link } of plan.accepted) {
    if (failed.has(nic.id) || backend.kind === 'unknown') continue
    const files = filesFor(backend.kind, nic, paths, observed.directories)
    const found = [...differences(nic, link.ifindex, observed), ...fileDifferences(files, observed)]
    const [first] = found
    if (first) failed.set(nic.id, { reason: first.reason, message: found.map(entry => entry.message).join('; ') })
  }
  return {
    plan,
    observed,
    failed,
    changed: 0,
    removed: [],
    undone: [],
    stuck: stuckOf(plan),
    notes: new Map(),
    applying: 0,
    verifying: 0,
  }
}
