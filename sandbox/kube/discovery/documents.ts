/**
 * Documents about the API itself: discovery, OpenAPI and the server version.
 */

import { noSuchPath } from '../api-errors.ts'
import type { Cluster } from '../cluster.ts'
import type { Fields } from '../json.ts'
import { apiVersions, groupDocument, groupList, resourceList } from './discovery.ts'
import { openApiDocument, openApiIndex } from './openapi.ts'

export const serverVersion = {
  major: '1',
  minor: '36',
  gitVersion: 'v1.36.0+multinic.sandbox',
  gitCommit: '',
  gitTreeState: 'clean',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'none',
  compiler: 'node',
  platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
}

/** The document at a path; undefined for paths of objects. */
export function documentAt(steps: readonly string[], cluster: Cluster): Fields | undefined {
  const [root, ...rest] = steps
  if (root === 'openapi') return openApi(rest, cluster)
  const isCore = root === 'api'
  if ((!isCore && root !== 'apis') || steps.length > (isCore ? 2 : 3)) return undefined
  const kinds = cluster.kinds.all()
  if (rest.length === 0) return isCore ? apiVersions() : groupList(kinds)
  const [group = '', version] = isCore ? ['', ...rest] : rest
  const found = version === undefined ? groupDocument(kinds, group) : resourceList(kinds, group, version)
  if (!found) throw noSuchPath()
  return found
}

function openApi([edition, ...rest]: readonly string[], { kinds, store }: Cluster): Fields {
  if (edition !== 'v3') throw noSuchPath()
  if (rest.length === 0) return openApiIndex(kinds.all(), store.version())
  const [group = '', version = ''] = rest[0] === 'api' ? ['', rest[1]] : rest.slice(1)
  const document = openApiDocument(kinds.all(), group, version)
  if (!document) throw noSuchPath()
  return document
}
