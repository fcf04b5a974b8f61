/**
 * Hands NICs over to networkd's new configuration: none before the agent changes them, ours after an apply, that of others
 * after a removal or a rollback.
 */
import { hostPart } from '../../contract/address.ts'
import { messageOf } from '../../runtime/errors.ts'
import type { AgentContext, HostContext } from '../context.ts'
import type { NetworkdLink } from '../daemons/networkd.ts'
import { temporaryName } from '../plan/renames.ts'
import { isDynamicAddress } from '../plan/take-over.ts'
import { type Change, fileChange } from '../state/change.ts'
import { linkByIndex, type Observed } from '../state/observed.ts'
import { isOurNetworkFile } from '../state/ownership.ts'
import type { Unit } from '../state/unit.ts'
import { applyUnits, type Failure, type Failures } from './apply.ts'
import { commitFiles, stageFiles } from './files.ts'

/** Milliseconds. networkd configures a link from our file within a few milliseconds; a link without carrier takes longer. */
const settleTimeout = 5_000
const pollInterval = 20
const unmanaged = '[Link]\nUnmanaged=yes\n'
const unsettled = new Set(['pending', 'initialized', 'configuring'])

export interface NetworkdReload {
  /** The NICs that networkd has configured anew, by ifindex; none when it was not reloaded. */
  ifindexes: number[]
  error?: string
}

/**
 * The files that make networkd release NICs. Before its client is stopped, networkd would lease the address again while the
 * agent changes it: after every change of the carrier (a rename sets the link down on kernels before 6.2), and under the new
 * name if the former one is an altname that its file matches.
 *
 * networkd removes an IPv6 address from a router advertisement with the link that it releases. The agent then adds it again.
 */
export function releaseUnits(units: readonly Unit[], observed: Observed, context: AgentContext): Unit[] {
  if (observed.networkdChanged !== undefined) return []
  return units.flatMap(unit => {
    const link = linkByIndex(observed, unit.ifindex ?? 0)
    const change = networkFileChange(unit)
    if (!link || !change?.to || !isConcerned(unit, observed, context)) return []
    if (isOurNetworkFile(loadedBy(unit, observed) ?? '')) return []
    const names = [link.name, unit.name, temporaryName(link.ifindex)].join(' ')
    const text = `[Match]\nMACAddress=${unit.macAddress}\nName=${names}\n\n${unmanaged}`
    return [{ ...unit, changes: [fileChange(change.path, change.from, { ...change.to, text })] }]
  })
}

/** Call it before the first change of the kernel. The requested files of `units` are staged again afterwards. */
export async function releaseFromNetworkd(
  releasing: readonly Unit[],
  units: readonly Unit[],
  observed: Observed,
  context: AgentContext,
): Promise<Failures> {
  const { networkd, host, paths } = context
  if (!networkd || releasing.length === 0) return new Map()
  const concerned = units.filter(unit => releasing.some(({ ifindex }) => ifindex === unit.ifindex))
  const { failures } = await applyUnits(
    concerned.map(unit => ({ ...unit, changes: unit.changes.filter(change => keepsAddress(change, unit)) })),
    observed,
    context,
  )
  const failAll = (message: string) =>
    new Map([
      ...failures,
      ...releasing.map(({ group }): [string, Failure] => [group, { reason: 'CommandFailed', message }]),
    ])
  const linksOf = async () => {
    const links = await networkd.links()
    return releasing.map(({ ifindex = 0 }) => links.get(ifindex))
  }
  try {
    for (const unit of releasing) {
      stageFiles(host, unit)
      commitFiles(host, paths, unit)
    }
    for (const unit of concerned) stageFiles(host, unit)
    await poll(async () => (await linksOf()).every(link => !link?.leased), context)
    await networkd.reload(releasing.map(({ ifindex = 0 }) => ifindex))
    await poll(async () => (await linksOf()).every(link => link?.file === undefined), context)
  } catch (error) {
    return failAll(`systemd-networkd cannot be reloaded: ${messageOf(error)}`)
  }
  const managed = (await linksOf()).find(link => link?.file !== undefined)
  return managed
    ? failAll(`systemd-networkd did not release ${managed.name} within ${settleTimeout / 1000} s`)
    : failures
}

/** networkd does not manage the NICs that it released, but has to be reloaded for them. */
export function withReleased(observed: Observed, units: readonly Unit[]): Observed {
  const released = units.flatMap(unit => {
    const change = networkFileChange(unit)
    return change?.to?.text.endsWith(unmanaged) ? [[unit.ifindex ?? 0, change.path] as const] : []
  })
  return { ...observed, networkdFiles: { ...Object.fromEntries(released), ...observed.networkdFiles } }
}

/** Removes and adds an address that the NIC keeps: networkd then does not count it as its client's. */
function keepsAddress(change: Change, { changes }: Unit): boolean {
  if (change.kind !== 'address') return false
  const isSame = (other: Change) =>
    other.kind === 'address' && hostPart(other.address.cidr) === hostPart(change.address.cidr)
  const same = changes.filter(isSame)
  return (
    same.some(other => other.kind === 'address' && other.op === 'remove' && isDynamicAddress(other.address)) &&
    same.some(other => other.kind === 'address' && other.op === 'add')
  )
}

function networkFileChange({ changes }: Unit): (Change & { kind: 'file' }) | undefined {
  const change = changes.find(entry => entry.kind === 'file' && isOurNetworkFile(entry.path))
  return change?.kind === 'file' ? change : undefined
}

/**
 * Call it when the files are in place. Only NICs that networkd manages need it: it would keep its DHCP client, or our file
 * that is gone.
 */
export async function reloadNetworkd(
  units: readonly Unit[],
  observed: Observed,
  context: HostContext & Partial<Pick<AgentContext, 'settings'>>,
): Promise<NetworkdReload> {
  const { networkd, log } = context
  const ours = concernedLinks(units, observed, context)
  if (!networkd || ours.size === 0) return { ifindexes: [] }
  const changed = await networkd.changedSinceLoad()
  if (changed !== undefined) {
    log.warn('networkd not reloaded: it would also apply a file that changed since it started', { file: changed })
    return { ifindexes: [] }
  }
  try {
    await poll(async () => hasSeenChanges(await networkd.links(), units, ours), context)
    await networkd.reload([...ours.keys()])
    await poll(async () => isSettled(await networkd.links(), ours), context)
    return { ifindexes: [...ours.keys()] }
  } catch (error) {
    return { ifindexes: [...ours.keys()], error: `systemd-networkd cannot be reloaded: ${messageOf(error)}` }
  }
}

/** Whether our file is the one that networkd has to apply, by ifindex. */
function concernedLinks(
  units: readonly Unit[],
  observed: Observed,
  context: Partial<Pick<AgentContext, 'settings'>>,
): ReadonlyMap<number, boolean> {
  const concerned = units.filter(unit => isConcerned(unit, observed, context))
  return new Map(concerned.map(unit => [unit.ifindex ?? 0, networkFileChange(unit)?.to !== undefined]))
}

function isConcerned(unit: Unit, observed: Observed, { settings }: Partial<Pick<AgentContext, 'settings'>>): boolean {
  const loaded = loadedBy(unit, observed)
  const file = networkFileChange(unit)
  if (loaded === undefined || file === undefined) return false
  return file.to === undefined || isOurNetworkFile(loaded) || settings?.takeover !== 'refuse'
}

function loadedBy({ ifindex = 0 }: Unit, { networkdFiles }: Observed): string | undefined {
  return networkdFiles?.[ifindex]
}

/**
 * networkd reads what the kernel tells it in its own time. Before it knows that the address is no longer its client's, a
 * reload would remove the address; before it knows the new name, a reload would not find the file.
 */
function hasSeenChanges(
  links: ReadonlyMap<number, NetworkdLink>,
  units: readonly Unit[],
  ours: ReadonlyMap<number, boolean>,
): boolean {
  return [...ours].every(([ifindex, isOurs]) => {
    const link = links.get(ifindex)
    const changes = units.find(unit => unit.ifindex === ifindex)?.changes ?? []
    const rename = changes.findLast(change => change.kind === 'name')
    return link === undefined || ((rename === undefined || link.name === rename.to) && !(isOurs && link.leased))
  })
}

function isSettled(links: ReadonlyMap<number, NetworkdLink>, ours: ReadonlyMap<number, boolean>): boolean {
  return [...ours].every(([ifindex, isOurs]) => {
    const link = links.get(ifindex)
    const loaded = link?.file !== undefined && isOurNetworkFile(link.file)
    return loaded === isOurs && !(isOurs && unsettled.has(link?.state ?? ''))
  })
}

async function poll(isDone: () => Promise<boolean>, { host }: HostContext): Promise<void> {
  for (const until = host.monotonic() + settleTimeout; !(await isDone()) && host.monotonic() < until; )
    await host.sleep(pollInterval)
}
