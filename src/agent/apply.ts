/**
 * Makes changes: kernel settings as file writes, everything else of all NICs in one `ip -batch`.
 *
 * A line that fails fails its NIC (and those it trades names with); the others go on from the next line.
 */
import type { InterfaceReason } from '../contract/reasons/catalogue.ts'
import { messageOf } from '../runtime/errors.ts'
import { type Change, inWords, ipLine, isKernel, type KernelChange } from './change.ts'
import type { Host } from './host.ts'
import type { NetworkManager } from './network-manager.ts'
import { sysctlPath } from './observe.ts'
import { linkByIndex, type Observed } from './observed.ts'
import type { Paths } from './paths.ts'
import type { Unit } from './unit.ts'

export interface Failure {
  reason: InterfaceReason
  message: string
}

/** Failures by group: a group fails as a whole. */
export type Failures = Map<string, Failure>

interface Line {
  unit: Unit
  change: KernelChange
  text: string
  /** Some kernels have no altnames; nothing depends on one. */
  optional: boolean
  /** The link was put down for it already. */
  flapped?: true
}

export interface Ground {
  host: Host
  manager?: NetworkManager | undefined
  paths: Paths
  observed: Observed
}

export interface Applied {
  failures: Failures
  /** Altnames that the kernel did not take. */
  refusedAltnames: string[]
}

export async function applyUnits(units: readonly Unit[], ground: Ground): Promise<Applied> {
  const failures: Failures = new Map()
  const refusedAltnames: string[] = []
  await releaseAll(units, ground, failures)
  for (const unit of units) writeSettings(unit, settingsBefore(unit), ground, failures, deviceBefore(unit, ground))
  for (const batch of batchesOf(units))
    for (const { change } of await runLines(batch, ground, failures))
      if (change.kind === 'altname' && change.op === 'add') refusedAltnames.push(change.altname)
  for (const unit of units) writeSettings(unit, settingsAfter(unit), ground, failures, deviceAfter(unit, ground))
  return { failures, refusedAltnames }
}

/** For taking back: every line is tried, whatever happened to the one before; the state is read again afterwards. */
export async function forceUnits(units: readonly Unit[], ground: Ground): Promise<void> {
  const ignored: Failures = new Map()
  await releaseAll(units, ground, ignored)
  for (const unit of units) writeSettings(unit, settingsBefore(unit), ground, ignored, deviceBefore(unit, ground))
  for (const batch of batchesOf(units)) await runLines(batch, ground, ignored, { tolerant: true })
  for (const unit of units) writeSettings(unit, settingsAfter(unit), ground, ignored, deviceAfter(unit, ground))
}

/** Whoever else could change the device lets go of it first. */
async function releaseAll(units: readonly Unit[], ground: Ground, failures: Failures): Promise<void> {
  for (const unit of units) {
    if (!unit.changes.some(change => change.kind === 'manager' && change.to === 'none')) continue
    try {
      await ground.manager?.release(deviceBefore(unit, ground))
    } catch (error) {
      failures.set(unit.group, { reason: 'CommandFailed', message: messageOf(error) })
    }
  }
}

/** When the files are in their place: NetworkManager reads its profiles again, and gets back what it had. */
export async function handBackAll(units: readonly Unit[], { manager, observed, host, paths }: Ground): Promise<void> {
  if (!manager) return
  const profiles = units.some(unit =>
    unit.changes.some(change => change.kind === 'file' && change.path.startsWith(paths.networkManager)),
  )
  if (profiles) await manager.reload()
  for (const unit of units)
    if (unit.changes.some(change => change.kind === 'manager' && change.to !== 'none'))
      await manager.handBack(deviceAfter(unit, { manager, observed, host, paths }))
}

/** Rules of IPv6 need a switch of their own, and so a batch of their own. */
function batchesOf(units: readonly Unit[]): Batch[] {
  const lines = linesOf(units)
  const own = ({ change }: Line) => change.kind === 'rule' && change.rule.family === 6
  return [
    { args: ['-batch', '-'], lines: lines.filter(line => !own(line)) },
    { args: ['-6', '-batch', '-'], lines: lines.filter(own) },
  ]
}

function linesOf(units: readonly Unit[]): Line[] {
  const lines = units.flatMap(unit =>
    unit.changes.filter(isKernel).map(change => ({
      unit,
      change,
      text: ipLine(change, unit.ifindex ?? 0),
      optional: change.kind === 'altname',
    })),
  )
  // NICs that go free their names; then all that is taken away (it may be another NIC's next route or address); then
  // everybody who is in somebody's way steps aside; then the rest.
  const rank = ({ unit, change }: Line) => {
    if (unit.purpose === 'remove') return 0
    if ('op' in change && change.op === 'remove') return 1
    return change.kind === 'name' && change.park ? 2 : 3
  }
  return [0, 1, 2, 3].flatMap(wanted => lines.filter(line => rank(line) === wanted))
}

interface Batch {
  args: string[]
  lines: Line[]
}

/** Lines that failed without failing their NIC. */
async function runLines(
  { args, lines }: Batch,
  { host, observed }: Ground,
  failures: Failures,
  { tolerant = false } = {},
): Promise<Line[]> {
  const skipped: Line[] = []
  let rest = lines.filter(line => !failures.has(line.unit.group))
  while (rest.length > 0) {
    const texts = rest.map(line => line.text)
    const { code, stderr } = await host.ip(args, texts)
    if (code === 0) return skipped
    const at = Number(/Command failed -:(\d+)/.exec(stderr)?.[1] ?? 1) - 1
    const failed = rest[at]
    if (!failed) throw new Error(`ip failed without a line: ${stderr.trim()}`)
    const cause = causeIn(stderr)
    const next = rest.slice(at + 1)
    if (failed.change.kind === 'name' && !failed.flapped && /busy/i.test(cause))
      rest = [...downRenameUp(failed, observed), ...next]
    else {
      if (!failed.optional && !tolerant) {
        const reason = failed.change.kind === 'name' && /exists/i.test(cause) ? 'InterfaceNameInUse' : 'CommandFailed'
        failures.set(failed.unit.group, { reason, message: `${inWords(failed.change)}: ${cause}` })
      } else skipped.push(failed)
      rest = next.filter(line => !failures.has(line.unit.group))
    }
  }
  return skipped
}

/** Kernels before 6.2 do not rename a link that is up. What it loses meanwhile is found missing, and added again. */
function downRenameUp(line: Line, observed: Observed): Line[] {
  const set = (to: 'up' | 'down'): Line => {
    const change = { kind: 'link', from: to === 'up' ? 'down' : 'up', to } as const
    return { ...line, change, text: ipLine(change, line.unit.ifindex ?? 0) }
  }
  const wasUp = linkByIndex(observed, line.unit.ifindex ?? 0)?.up ?? false
  return [set('down'), { ...line, flapped: true }, ...(wasUp ? [set('up')] : [])]
}

function causeIn(stderr: string): string {
  const text = stderr.split('\n').find(line => line !== '' && !line.startsWith('Command failed')) ?? 'no reason given'
  return text.replace(/^(RTNETLINK answers|Error): /, '')
}

function writeSettings(
  unit: Unit,
  settings: readonly (Change & { kind: 'sysctl' })[],
  { host, paths }: Ground,
  failures: Failures,
  device: string,
): void {
  if (failures.has(unit.group)) return
  for (const setting of settings) {
    try {
      host.writeValue(sysctlPath(paths, setting.key, device), setting.to)
    } catch (error) {
      failures.set(unit.group, { reason: 'CommandFailed', message: `${inWords(setting)}: ${messageOf(error)}` })
      return
    }
  }
}

function settingsBefore(unit: Unit): (Change & { kind: 'sysctl' })[] {
  const first = unit.changes.findIndex(isKernel)
  return unit.changes.slice(0, first < 0 ? undefined : first).filter(change => change.kind === 'sysctl')
}

function settingsAfter(unit: Unit): (Change & { kind: 'sysctl' })[] {
  const first = unit.changes.findIndex(isKernel)
  return first < 0 ? [] : unit.changes.slice(first).filter(change => change.kind === 'sysctl')
}

function deviceBefore(unit: Unit, { observed }: Ground): string {
  return linkByIndex(observed, unit.ifindex ?? 0)?.name ?? ''
}

function deviceAfter(unit: Unit, ground: Ground): string {
  const rename = unit.changes.filter(change => change.kind === 'name').at(-1)
  return rename?.kind === 'name' ? rename.to : deviceBefore(unit, ground)
}
