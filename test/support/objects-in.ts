/** All objects of a cluster, to compare what an installation leaves. */
import { kinds } from '../../src/contract/crd.ts'
import type { ControlPlane } from '../rigs/kubernetes/rig.ts'

/** These come and go by themselves. */
const passing = /^(Event|Lease|EndpointSlice)\//

/** As kind/namespace/name, sorted. */
export async function objectsIn(cluster: ControlPlane): Promise<string[]> {
  const resources = await cluster.exec('kubectl', ['api-resources', '--verbs', 'list', '--output', 'name'])
  // The health checks of ComponentStatuses take seconds.
  const names = resources.stdout.split('\n').filter(name => name !== '' && name !== 'componentstatuses')
  const found = await namesOf(cluster, names.join(), '--all-namespaces')
  return [...new Set(found.filter(name => !passing.test(name)))].sort()
}

/** The objects that kubectl gets with these arguments. */
export async function namesOf(cluster: ControlPlane, ...args: string[]): Promise<string[]> {
  const shape = 'jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{"\\n"}{end}'
  const { stdout } = await cluster.exec('kubectl', ['get', ...args, '--output', shape])
  return stdout.split('\n').filter(line => line !== '')
}

export const newObjects = (now: readonly string[], earlier: readonly string[]) =>
  now.filter(name => !earlier.includes(name))

/** The CRDs, and what the API server has for each of their versions. */
export const definitionObjects = [
  ...new Set(
    kinds.flatMap(({ group, plural, versions }) => [
      `CustomResourceDefinition//${plural}.${group}`,
      ...versions.map(version => `APIService//${version}.${group}`),
    ]),
  ),
].sort()
