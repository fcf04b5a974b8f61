/** The real cloud of the rig, with an account for the suite whose roles it changes. */
import type { OpenStack } from '../../rigs/openstack/rig.ts'
import type { CloudUnderTest } from './context.ts'

export async function realCloud(openstack: OpenStack): Promise<CloudUnderTest> {
  const { user, password } = await openstack.createUser('conformance', ['admin'])
  await openstack.createRole('onlooker')
  return {
    ...openstack,
    urls: { keystone: openstack.keystoneUrl, neutron: openstack.neutronUrl, nova: openstack.novaUrl },
    login: { url: openstack.keystoneUrl, user, password, domain: 'Default' },
    revokeRole: () => openstack.revoke(user, 'admin'),
    grantRole: () => openstack.grant(user, 'admin'),
    async disableRole() {
      await openstack.grant(user, 'onlooker')
      await openstack.revoke(user, 'admin')
    },
    async enableRole() {
      await openstack.grant(user, 'admin')
      await openstack.revoke(user, 'onlooker')
    },
  }
}
