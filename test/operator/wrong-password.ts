/**
 * A Contrabass of the cloud of the environment, with an account that Keystone refuses.
 */
import { encrypted } from '../../sandbox/cloud/contrabass.ts'
import { type StubServer, startStubServer } from '../openstack/stub-server.ts'
import type { OperatorEnvironment } from './environment.ts'

export function startContrabassWithWrongPassword({ cloudState, cloud }: OperatorEnvironment): Promise<StubServer> {
  const { user, provider } = cloudState
  const attributes = { adminId: user.name, adminPw: encrypted('wrong', provider.encryptKey), domain: user.domain }
  const body = { data: { url: cloud.urls.keystone, attributes } }
  return startStubServer(() => ({ status: 200, body }))
}
