/**
 * Hands NICs over to networkd's new configuration: ours after an apply, that of others after a removal or a rollback.
 */
import { messageOf } from '../runtime/errors.ts'
import type { AgentContext, HostContext } from './context.ts'
import type { NetworkdLink } from './networkd.ts'
import type { Observed } from './observed.ts'
import { isOurNetworkFile } from './ownership.ts'
import type { Unit } from './unit.ts'

/** Milliseconds. networkd configures a link from our file within a few milliseconds; a link without carrier takes longer. */
const settleTimeout = 5_000
const pollInterval = 20
const unsettled = new Set(['pending', 'initialized', 'configuring'])

export interface NetworkdReload {
  /** The NICs that networkd has configured anew, by ifindex; none when it was not reloaded. */
  ifindexes: number[]
  error?: string
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
    await networkd.reload()
    await poll(async () => isSettled(await networkd.links(), ours), context)
    return { ifindexes: [...ours.keys()] }
  } catch (error) {
    return { ifindexes: [...ours.keys()], error: `systemd-networkd cannot be reloaded: ${messageOf(error)}` }
  }
}

/** Whether our file is the one that networkd has to apply, by ifindex. */
function concernedLinks(
  units: readonly Unit[],
  { networkdFiles }: Observed,
  { settings }: Partial<Pick<AgentContext, 'settings'>>,
): ReadonlyMap<number, boolean> {
  const ours = new Map<number, boolean>()
  for (const { ifindex = 0, changes } of units) {
    const loaded = networkdFiles?.[ifindex]
    const file = changes.find(change => change.kind === 'file' && isOurNetworkFile(change.path))
    if (loaded === undefined || file?.kind !== 'file') continue
    const isOurs = file.to !== undefined
    if (isOurs && !isOurNetworkFile(loaded) && settings?.takeover === 'refuse') continue
    ours.set(ifindex, isOurs)
  }
  return ours
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
    const loaded = link !== undefined && isOurNetworkFile(link.file)
    return loaded === isOurs && !(isOurs && unsettled.has(link?.state ?? ''))
  })
}

async function poll(isDone: () => Promise<boolean>, { host }: HostContext): Promise<void> {
  for (const until = host.monotonic() + settleTimeout; !(await isDone()) && host.monotonic() < until; )
    await host.sleep(pollInterval)
}
