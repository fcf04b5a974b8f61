/**
 * Finds the owners of an IP, a MAC or a port through the API.
 */
import { type Ownership, ownershipsOf, recordOwns } from '../model/ownership.ts'
import { nodeHistory, recentHistory, recordsMatching, search } from '../state/api.ts'

/** Reads the owners of a value from the histories of the nodes that have it now, had it at that time or had it recently. */
export async function findOwnerships(q: string, at: string, signal: AbortSignal): Promise<Ownership[]> {
  const [hits, atThatTime, recent] = await Promise.all([
    search(q, signal),
    at ? recordsMatching(q, new Date(at).toISOString()) : [],
    recentHistory(1_000),
  ])
  const recentOwners = recent.flatMap(({ before }) => (before && recordOwns(before, q) ? [before] : []))
  const currentOwners = hits.filter(({ value }) => value.split('/')[0]?.toLowerCase() === q.toLowerCase())
  const nodes = new Map(
    [...currentOwners, ...atThatTime, ...recentOwners].map(each => [`${each.providerId} ${each.nodeName}`, each]),
  )
  const histories = [...nodes.values()].slice(0, 12).map(each => nodeHistory(each.providerId, each.nodeName, 1_000))
  return ownershipsOf(q, (await Promise.all(histories)).flat())
}
