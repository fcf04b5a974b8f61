/**
 * An API server without validation rules, such as one before Kubernetes 1.25: it stores what they would refuse.
 */
import { openstackConfigs } from '../../src/contract/openstack-config.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { crds } from '../../src/kube/resources.ts'

export async function removeValidationRules(kube: KubeClient): Promise<void> {
  const name = `${openstackConfigs.plural}.${openstackConfigs.group}`
  const definition = JSON.stringify(await kube.get(crds, { name }))
  const { spec } = JSON.parse(definition, (key, value) => (key === 'x-kubernetes-validations' ? undefined : value))
  await kube.patch(crds, { name }, { spec: { versions: spec.versions } })
}
