/**
 * Applies units: sysctls as file writes, everything else of all NICs in one `ip -batch`.
 *
 * A command that fails fails its NIC, and the NICs of the same group; the others continue with the next command.
 */
import type { InterfaceReason } from '../../contract/reasons/catalogue.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { HostContext } from '../context.ts'
import { sysctlPath } from '../observe/observe.ts'
import { type Change, describeChange, ipCommand, isKernelChange, type KernelChange, ruleKey } from '../state/change.ts'
import { removedInstead } from '../state/equivalent.ts'
import { nftErrorIn, nftScript } from '../state/nftables.ts'
import { linkByIndex, type Observed } from '../state/observed.ts'
import { applyUnitOf, type Unit } from '../state/unit.ts'

export interface Failure {
  reason: InterfaceReason
  message: string
}

/** Failures by group: a group fails as a whole. */
export type Failures = ReadonlyMap<string, Failure>

export interface ApplyResult {
  failures: Failures
  /** Altnames that the kernel did not accept. */
  refusedAltnames: string[]
  /** Why nft could not load a table. */
  nftError?: string
}

type SysctlChange = Change & { kind: 'sysctl' }
type NftChange = Change & { kind: 'nft' }

interface BatchLine {
  unit: Unit
  change: KernelChange
  command: string
  /** The link was already set down to rename it. */
  flapped?: true
  /** The new name was already removed from the altnames of the link. */
  freed?: true
}

interface BatchOptions {
  /** Tries every command, whatever happened to the one before. */
  tolerant: boolean
  neighbourCommands: readonly string[]
}

interface Batch {
  args: string[]
  lines: BatchLine[]
}

/** A NIC whose removal failed keeps its index: the NIC that would get it fails too, and both are rolled back together. */
export function withSuccessors(units: readonly Unit[], failures: Failures): Map<string, Failure> {
  const all = new Map(failures)
  for (const { purpose, index, name, macAddress, group } of units) {
    const failure = purpose === 'remove' ? failures.get(group) : undefined
    const successor = applyUnitOf(units, index)
    if (!failure || !successor) continue
    const message = `${name} still belongs to the NIC ${macAddress}, which cannot be removed: ${failure.message}`
    all.set(successor.group, { reason: failure.reason, message })
  }
  return all
}

/** `neighbourCommands` run after all changes, in the same process. Whether they succeed does not matter. */
export async function applyUnits(
  units: readonly Unit[],
  observed: Observed,
  context: HostContext,
  neighbourCommands: readonly string[] = [],
): Promise<ApplyResult> {
  const failures = new Map<string, Failure>()
  const { skipped, nftError } = await applyAll(units, observed, context, failures, { neighbourCommands })
  const refused = skipped.flatMap(({ change }) =>
    change.kind === 'altname' && change.op === 'add' ? change.altname : [],
  )
  const refusedAltnames = [...new Set(refused)]
  return {
    failures: withSuccessors(units, failures),
    refusedAltnames,
    ...(nftError !== undefined && isUnsupported(nftError) ? { nftError } : {}),
  }
}

/** The kernel or the image lacks something, which no retry brings. */
function isUnsupported(nftError: string): boolean {
  return /not supported|No such file|Operation not permitted|no nft program/i.test(nftError)
}

/** For rollback: tries every command, whatever happened to the one before. The caller observes the result. */
export async function applyBestEffort(units: readonly Unit[], observed: Observed, context: HostContext): Promise<void> {
  await applyAll(units, observed, context, new Map(), { tolerant: true })
}

/** ENOENT, ESRCH and EADDRNOTAVAIL, in the words of old and new kernels. */
const goneErrors =
  /No such (file or directory|process)|Cannot assign requested address|[Aa]ddress not found|FIB table does not exist/

/** Fills `failures`. Returns the commands that failed without failing their NIC, and the error of nft. */
async function applyAll(
  units: readonly Unit[],
  observed: Observed,
  context: HostContext,
  failures: Map<string, Failure>,
  { tolerant = false, neighbourCommands = [] }: Partial<BatchOptions> = {},
): Promise<{ skipped: BatchLine[]; nftError: string | undefined }> {
  const kept = unsafeRemovals(units, observed)
  for (const { unit, change } of tolerant ? [] : kept)
    failures.set(unit.group, {
      reason: 'CommandFailed',
      message: `${describeChange(change)}: the kernel could remove a foreign rule instead, which has the same selectors and more. Remove that rule first`,
    })
  await releaseFromNetworkManager(units, observed, context, failures)
  for (const unit of units) writeSysctls(unit, sysctlsBefore(unit), deviceBefore(unit, observed), context, failures)
  // Marks have no effect before the rules, and rules have none after the marks.
  const tables = units.filter(unit => !failures.has(unit.group)).flatMap(({ changes }) => changes.filter(isNftChange))
  const nftError = await loadTables(
    tables.filter(({ to }) => to !== undefined),
    context,
  )
  if (nftError !== undefined && !isUnsupported(nftError) && !tolerant)
    for (const unit of units.filter(({ changes }) => changes.some(isNftChange)))
      failures.set(unit.group, { reason: 'CommandFailed', message: `nft: ${nftError}` })
  const skipped: BatchLine[] = []
  for (const { args, lines } of batchesOf(units)) {
    const options = { tolerant, neighbourCommands: args.includes('-6') ? [] : neighbourCommands }
    const batch = { args, lines: lines.filter(line => !kept.some(({ change }) => change === line.change)) }
    skipped.push(...(await runBatch(batch, observed, context, failures, options)))
  }
  await loadTables(
    tables.filter(({ to }) => to === undefined),
    context,
  )
  for (const unit of units) writeSysctls(unit, sysctlsAfter(unit), deviceAfter(unit, observed), context, failures)
  return { skipped, nftError }
}

function isNftChange(change: Change): change is NftChange {
  return change.kind === 'nft'
}

/** All tables in one transaction; if the kernel refuses one, the others on their own. Returns the last error. */
async function loadTables(changes: readonly NftChange[], { host, done }: HostContext): Promise<string | undefined> {
  if (changes.length === 0) return undefined
  const load = async (some: readonly NftChange[]) => {
    const { code, stderr } = await host.nft(some.map(({ family, to }) => nftScript(family, to)).join(''))
    if (code !== 0) return nftErrorIn(stderr)
    for (const change of some) done?.add(change)
    return undefined
  }
  const error = await load(changes)
  if (error === undefined || changes.length === 1) return error
  let last: string | undefined
  for (const change of changes) last = (await load([change])) ?? last
  return last
}

function unsafeRemovals(units: readonly Unit[], { rules }: Observed): { unit: Unit; change: Change }[] {
  const all = units.flatMap(unit => unit.changes.map(change => ({ unit, change })))
  const removed = new Set(all.flatMap(({ change }) => removedRule(change)))
  return all.filter(
    ({ change }) => change.kind === 'rule' && change.op === 'remove' && removedInstead(change.rule, rules, removed),
  )
}

/** NetworkManager must release a device before others change it. */
async function releaseFromNetworkManager(
  units: readonly Unit[],
  observed: Observed,
  { networkManager }: HostContext,
  failures: Map<string, Failure>,
): Promise<void> {
  for (const unit of units) {
    if (failures.has(unit.group) || !unit.changes.some(change => change.kind === 'manager' && change.to === 'none'))
      continue
    try {
      await networkManager?.release(deviceBefore(unit, observed))
    } catch (error) {
      failures.set(unit.group, { reason: 'CommandFailed', message: messageOf(error) })
    }
  }
}

/** Call it when the files are in place: NetworkManager reloads its profiles and manages again what it managed before. */
export async function returnToNetworkManager(
  units: readonly Unit[],
  observed: Observed,
  { networkManager, paths }: HostContext,
): Promise<void> {
  if (!networkManager) return
  const profiles = units.some(unit =>
    unit.changes.some(
      change =>
        change.kind === 'file' &&
        [paths.networkManager, paths.networkScripts].some(directory => change.path.startsWith(directory)),
    ),
  )
  if (profiles) await networkManager.reload()
  for (const unit of units) {
    const returned = unit.changes.find(change => change.kind === 'manager' && change.to !== 'none')
    if (returned?.kind !== 'manager') continue
    const { to, leased = false } = returned
    await networkManager.manage(deviceAfter(unit, observed), to === 'ours' ? { ours: unit.macAddress } : { leased })
  }
}

/**
 * IPv6 rules need `ip -6`, hence a batch of their own. It goes first: networkd removes the rules that it added as soon as a link
 * goes down, and rules of another version could lead packets to the routes of other NICs in the main table.
 */
function batchesOf(units: readonly Unit[]): Batch[] {
  const lines = linesOf(units)
  const rules6 = lines.filter(({ change }) => change.kind === 'rule' && change.rule.family === 6)
  return [
    { args: ['-6', '-batch', '-'], lines: rules6 },
    { args: ['-batch', '-'], lines: lines.filter(line => !rules6.includes(line)) },
  ]
}

function isRemoval({ change }: BatchLine): boolean {
  return 'op' in change && change.op === 'remove'
}

/**
 * What is already gone counts as removed: NetworkManager and networkd remove the rules, routes and addresses that they
 * added, and a NIC may be detached meanwhile.
 */
function isGone(line: BatchLine, error: string): boolean {
  if (/No such device|Cannot find device|Device not found/.test(error))
    return isRemoval(line) || line.unit.purpose === 'remove'
  return isRemoval(line) && goneErrors.test(error)
}

function linesOf(units: readonly Unit[]): BatchLine[] {
  const lines = units
    .flatMap(unit =>
      unit.changes.filter(isKernelChange).map(change => ({
        unit,
        change,
        command: ipCommand(change, unit.ifindex ?? 0),
      })),
    )
    .filter(({ command }) => command !== '')
  const removedRules = new Set(lines.flatMap(({ change }) => removedRule(change)))
  const rankOf = (line: BatchLine) => {
    const { unit, change } = line
    if (unit.purpose === 'remove') return ranks.removedNics
    const isNewRule = change.kind === 'rule' && change.op === 'add' && !removedRules.has(ruleKey(change.rule))
    if (unit.purpose === 'node' && change.kind === 'route' && change.op === 'add') return ranks.primaryRoutes
    if (isNewRule) return unit.purpose === 'node' ? ranks.primaryRules : ranks.newRules
    if (change.kind === 'route' && change.early) return ranks.newRules
    if (isRemoval(line) && !('inPlace' in change)) return ranks.removals
    if (change.kind === 'address' && change.leavesRoute) return ranks.connectedRoutes
    return change.kind === 'name' && change.park ? ranks.temporaryNames : ranks.rest
  }
  return Object.values(ranks).flatMap(rank => {
    const ofRank = lines.filter(line => rankOf(line) === rank)
    if (rank !== ranks.removals && rank !== ranks.connectedRoutes) return ofRank
    return ofRank.toSorted((a, b) => units.indexOf(b.unit) - units.indexOf(a.unit))
  })
}

/**
 * Removed NICs free their names. Then the way of the node's own address, new rules and the routes that flows need meanwhile, before
 * the old ones that they replace: no packet may find neither. Then removals of the other NICs: the next NIC may need the same
 * rule, route or address. Then addresses that lose their connected route. In both, the last NIC comes first: of several NICs in
 * one subnet, the first one serves it before and after, and the kernel ends masqueraded connections that leave by another one
 * in between. Then temporary names, then the rest.
 */
const ranks = {
  removedNics: 0,
  primaryRoutes: 1,
  primaryRules: 2,
  newRules: 3,
  removals: 4,
  connectedRoutes: 5,
  temporaryNames: 6,
  rest: 7,
} as const

function removedRule(change: Change): string[] {
  return change.kind === 'rule' && change.op === 'remove' ? [ruleKey(change.rule)] : []
}

async function runBatch(
  { args, lines }: Batch,
  observed: Observed,
  { host, done }: HostContext,
  failures: Map<string, Failure>,
  { tolerant, neighbourCommands }: BatchOptions,
): Promise<BatchLine[]> {
  const skipped: BatchLine[] = []
  const units = lines.map(({ unit }) => unit)
  const withoutFailed = (some: readonly BatchLine[]) => {
    const failed = withSuccessors(units, failures)
    return some.filter(line => !failed.has(line.unit.group))
  }
  let rest = withoutFailed(lines)
  while (rest.length > 0) {
    const commands = rest.map(line => line.command)
    const result = await host.ip(args, [...commands, ...neighbourCommands])
    const { stderr } = result
    // `ip neigh` ends the process without naming the line. All changes come before it.
    const code = neighbourCommands.length > 0 && !stderr.includes('Command failed') ? 0 : result.code
    // `ip -batch` stops at the first command that fails.
    const at = code === 0 ? rest.length : Number(/Command failed -:(\d+)/.exec(stderr)?.[1] ?? 1) - 1
    for (const { change } of rest.slice(0, at)) done?.add(change)
    if (code === 0) return skipped
    const failed = rest[at]
    if (!failed) throw new Error(`ip -batch failed without naming a line: ${stderr.trim()}`)
    const error = errorIn(stderr)
    const next = rest.slice(at + 1)
    if (failed.change.kind === 'name' && !failed.flapped && /busy/i.test(error))
      rest = [...downRenameUp(failed, observed), ...next]
    else if (failed.change.kind === 'name' && !failed.freed && /exists/i.test(error))
      rest = [...freeAndRename(failed, failed.change.to), ...next]
    else if (isGone(failed, error)) rest = next
    else {
      // A NIC works without an altname (kernels before 5.5).
      if (failed.change.kind !== 'altname' && !tolerant) {
        const reason = failed.change.kind === 'name' && /exists/i.test(error) ? 'InterfaceNameInUse' : 'CommandFailed'
        failures.set(failed.unit.group, { reason, message: `${describeChange(failed.change)}: ${error}` })
      } else skipped.push(failed)
      rest = withoutFailed(next)
    }
  }
  return skipped
}

/** Kernels before 6.2 cannot rename a link that is up. The next round restores the routes that the link loses while down. */
function downRenameUp(line: BatchLine, observed: Observed): BatchLine[] {
  const set = (to: 'up' | 'down'): BatchLine => {
    const change = { kind: 'link', from: to === 'up' ? 'down' : 'up', to } as const
    return { ...line, change, command: ipCommand(change, line.unit.ifindex ?? 0) }
  }
  const wasUp = linkByIndex(observed, line.unit.ifindex ?? 0)?.up ?? false
  return [set('down'), { ...line, flapped: true }, ...(wasUp ? [set('up')] : [])]
}

/** udev makes the former name of a renamed link one of its altnames. The altname of another link is not removed. */
function freeAndRename(line: BatchLine, name: string): BatchLine[] {
  const change = { kind: 'altname', op: 'remove', altname: name } as const
  const free = { ...line, change, command: ipCommand(change, line.unit.ifindex ?? 0) }
  return [free, { ...line, freed: true }]
}

function errorIn(stderr: string): string {
  const text = stderr.split('\n').find(line => line !== '' && !line.startsWith('Command failed')) ?? 'no error message'
  return text.replace(/^(RTNETLINK answers|Error): /, '')
}

function writeSysctls(
  unit: Unit,
  sysctls: readonly SysctlChange[],
  device: string,
  { host, paths, done }: HostContext,
  failures: Map<string, Failure>,
): void {
  if (failures.has(unit.group)) return
  for (const sysctl of sysctls) {
    try {
      host.writeValue(sysctlPath(paths, sysctl.key, device), sysctl.to)
      done?.add(sysctl)
    } catch (error) {
      failures.set(unit.group, { reason: 'CommandFailed', message: `${describeChange(sysctl)}: ${messageOf(error)}` })
      return
    }
  }
}

/** Those before the first change of the kernel. */
function sysctlsBefore(unit: Unit): SysctlChange[] {
  const first = unit.changes.findIndex(isKernelChange)
  return unit.changes.slice(0, first < 0 ? undefined : first).filter(change => change.kind === 'sysctl')
}

function sysctlsAfter(unit: Unit): SysctlChange[] {
  const first = unit.changes.findIndex(isKernelChange)
  return first < 0 ? [] : unit.changes.slice(first).filter(change => change.kind === 'sysctl')
}

function deviceBefore(unit: Unit, observed: Observed): string {
  return linkByIndex(observed, unit.ifindex ?? 0)?.name ?? ''
}

function deviceAfter(unit: Unit, observed: Observed): string {
  const rename = unit.changes.filter(change => change.kind === 'name').at(-1)
  return rename?.kind === 'name' ? rename.to : deviceBefore(unit, observed)
}
