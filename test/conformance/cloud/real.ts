/** The real cloud of the rig, as the suite sees it: with an account of its own, whose rights it may lose. */
import type { OpenStack } from '../../rigs/openstack/rig.ts'
import type { CloudUnderTest } from './place.ts'

export async function realCloud(openstack: OpenStack): Promise<CloudUnderTest> {
  const { user, password } = await openstack.createUser('conformance', ['admin'])
  await openstack.createRole('onlooker')
  return {
    ...openstack,
    urls: { keystone: openstack.keystoneUrl, neutron: openstack.neutronUrl, nova: openstack.novaUrl },
    login: { url: openstack.keystoneUrl, user, password, domain: 'Default' },
    loseRole: () => openstack.revoke(user, 'admin'),
    regainRole: () => openstack.grant(user, 'admin'),
    async loseSight() {
      await openstack.grant(user, 'onlooker')
      await openstack.revoke(user, 'admin')
    },
    async regainSight() {
      await openstack.grant(user, 'admin')
      await openstack.revoke(user, 'onlooker')
    },
  }
}
