/**
 * Discovery: API groups and resources as separate documents, without the aggregated form: clients fall back to these.
 */

import { reviews } from '../access/reviews.ts'
import type { Fields } from '../json.ts'
import { apiVersion, type Kind, type KindVersion } from '../kinds/kinds.ts'

const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch']
const terminatingVerbs = ['delete', 'deletecollection', 'get', 'list', 'watch']
const subresourceVerbs = ['get', 'patch', 'update']

interface Served {
  group: string
  /** Preferred version first. */
  versions: string[]
}

/** Sorts versions by preference: stable before beta before alpha, higher first. */
export function byPriority(a: string, b: string): number {
  const [aStage, aMajor, aMinor] = rank(a)
  const [bStage, bMajor, bMinor] = rank(b)
  return bStage - aStage || bMajor - aMajor || bMinor - aMinor || a.localeCompare(b)
}

function rank(version: string): [number, number, number] {
  const [, major, stage, minor] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? []
  if (major === undefined) return [-1, 0, 0]
  return [stage === undefined ? 3 : stage === 'beta' ? 2 : 1, Number(major), Number(minor ?? 0)]
}

export function servedGroups(kinds: readonly Kind[]): Served[] {
  const groups = new Map<string, Set<string>>()
  const add = (group: string, version: string) => {
    const versions = groups.get(group) ?? new Set()
    groups.set(group, versions.add(version))
  }
  for (const kind of kinds) for (const version of kind.versions) if (version.served) add(kind.group, version.name)
  for (const { group } of reviews) add(group, 'v1')
  return [...groups].map(([group, versions]) => ({ group, versions: [...versions].sort(byPriority) }))
}

function servedIn(kinds: readonly Kind[], group: string, version: string): [Kind, KindVersion][] {
  return kinds.flatMap(kind => {
    const found = kind.versions.find(one => one.name === version && one.served)
    return kind.group === group && found ? [[kind, found] as [Kind, KindVersion]] : []
  })
}

export function apiVersions(): Fields {
  return { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] }
}

export function groupList(kinds: readonly Kind[]): Fields {
  const groups = servedGroups(kinds).filter(served => served.group !== '')
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(groupFields) }
}

export function groupDocument(kinds: readonly Kind[], group: string): Fields | undefined {
  const served = servedGroups(kinds).find(one => one.group === group)
  return served && { kind: 'APIGroup', apiVersion: 'v1', ...groupFields(served) }
}

function groupFields({ group, versions }: Served): Fields {
  const all = versions.map(version => ({ groupVersion: apiVersion(group, version), version }))
  return { name: group, versions: all, preferredVersion: all[0] }
}

export function resourceList(kinds: readonly Kind[], group: string, version: string): Fields | undefined {
  const stored = servedIn(kinds, group, version).flatMap(([kind, served]) => [
    {
      name: kind.plural,
      singularName: kind.singular,
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: kind.terminating ? terminatingVerbs : verbs,
      ...(kind.shortNames.length > 0 && { shortNames: kind.shortNames }),
      ...(kind.categories.length > 0 && { categories: kind.categories }),
      storageVersionHash: '',
    },
    ...subresources(kind, served).map(([name, itsVerbs]) => ({
      name: `${kind.plural}/${name}`,
      singularName: '',
      namespaced: kind.namespaced,
      kind: kind.kind,
      verbs: itsVerbs,
    })),
  ])
  const reviewResources = reviews
    .filter(review => review.group === group && version === 'v1')
    .map(({ plural, kind, namespaced }) => ({
      name: plural,
      singularName: kind.toLowerCase(),
      namespaced,
      kind,
      verbs: ['create'],
    }))
  const resources = [...stored, ...reviewResources]
  if (resources.length === 0) return undefined
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion: apiVersion(group, version), resources }
}

function subresources(kind: Kind, version: KindVersion): [string, string[]][] {
  const found: [string, string[]][] = version.status ? [['status', subresourceVerbs]] : []
  if (kind.group === '' && kind.kind === 'Pod') found.push(['log', ['get']])
  if (kind.group === '' && kind.kind === 'Namespace') found.push(['finalize', ['update']])
  return found
}
