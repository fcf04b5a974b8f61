/**
 * The provider id under which Viola knows the Biz cluster of an OpenstackConfig.
 */
import type { OpenstackConfig } from '../contract/openstack-config.ts'

export function providerIdOf({ spec }: OpenstackConfig): string {
  return spec.credentials.k8sProviderID?.trim() || spec.credentials.openstackProviderID
}
