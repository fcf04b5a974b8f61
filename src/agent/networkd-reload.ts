/**
 * Hands NICs over to networkd's new configuration: ours after an apply, that of others after a removal or a rollback.
 */
import type { HostContext } from './context.ts'
import type { Observed } from './observed.ts'
import { isOurNetworkFile } from './ownership.ts'
import type { Unit } from './unit.ts'

/** Milliseconds. networkd configures a link from our file within a few milliseconds; a link without carrier takes longer. */
const settleTimeout = 5_000
const pollInterval = 20
const unsettled = new Set(['pending', 'initialized', 'configuring'])

/**
 * Call it when the files are in place. Only NICs that networkd manages need it: it would keep its DHCP client, or our file
 * that is gone. Returns their ifindexes; none when networkd was not reloaded.
 */
export async function reloadNetworkd(
  units: readonly Unit[],
  observed: Observed,
  { host, networkd, paths, log }: HostContext,
): Promise<number[]> {
  const ours = new Map<number, boolean>()
  for (const { ifindex, changes } of units) {
    const file = changes.find(
      change => change.kind === 'file' && change.path.startsWith(paths.networkd) && change.path.endsWith('.network'),
    )
    if (ifindex !== undefined && file && observed.networkdFiles?.[ifindex] !== undefined)
      ours.set(ifindex, file.kind === 'file' && file.to !== undefined)
  }
  if (!networkd || ours.size === 0) return []
  const changed = await networkd.changedSinceLoad()
  if (changed !== undefined) {
    log.warn('networkd not reloaded: it would also apply a file that changed since it started', { file: changed })
    return []
  }
  await networkd.reload()
  const isSettled = async () => {
    const links = await networkd.links()
    return [...ours].every(([ifindex, isOurs]) => {
      const link = links.get(ifindex)
      const loaded = link !== undefined && isOurNetworkFile(link.file)
      return loaded === isOurs && !(isOurs && unsettled.has(link?.state ?? ''))
    })
  }
  for (const until = host.now() + settleTimeout; host.now() < until && !(await isSettled()); )
    await host.sleep(pollInterval)
  return [...ours.keys()]
}
