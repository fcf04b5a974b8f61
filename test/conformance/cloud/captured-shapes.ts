/**
 * Compares the shape of whole responses with those captured from real Keystone, Neutron and Nova (OpenStack Zed):
 * ../../openstack/shapes.json. `CAPTURE=1 make e2e ONLY=cloud.real` captures them again.
 */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { environment } from '../../../src/runtime/env.ts'
import { differences, type Shape, shapeOf } from '../../openstack/shape.ts'
import type { ApiResponse } from '../../rigs/openstack/api.ts'
import { type CloudContext, logIn, unknownId } from './context.ts'

const file = join(import.meta.dirname, '../../openstack/shapes.json')

const nova = (version: string) => ({ headers: { 'x-openstack-nova-api-version': version } })
const badToken = { token: 'gAAAAA-not-a-token' }

const requests: Record<string, (context: CloudContext) => Promise<ApiResponse>> = {
  'keystone: a login': ({ cloud }) => logIn(cloud),
  'keystone: a wrong password': ({ cloud }) => logIn(cloud, { password: 'wrong' }),
  'keystone: a valid token': async ({ ask, token }) =>
    ask('keystone', '/v3/auth/tokens', { headers: { 'x-subject-token': await token() } }),
  'keystone: an unknown token': ({ ask }) =>
    ask('keystone', '/v3/auth/tokens', { headers: { 'x-subject-token': badToken.token } }),
  'keystone: its version': ({ ask }) => ask('keystone', '/v3'),
  'neutron: all ports': ({ ask }) => ask('neutron', '/v2.0/ports'),
  'neutron: the ports of a server': ({ ask, seeds }) => ask('neutron', `/v2.0/ports?device_id=${seeds.vms[0]}`),
  'neutron: one port': ({ ask, seeds }) => ask('neutron', `/v2.0/ports/${seeds.ports[0]}`),
  'neutron: an unattached port': ({ ask, seeds }) => ask('neutron', `/v2.0/ports/${seeds.unattached}`),
  'neutron: selected fields': ({ ask }) => ask('neutron', '/v2.0/ports?fields=id&fields=status&fields=fixed_ips'),
  'neutron: a page': ({ ask, seeds }) => ask('neutron', `/v2.0/ports?limit=1&device_id=${seeds.vms[0]}`),
  'neutron: subnets': ({ ask }) => ask('neutron', '/v2.0/subnets'),
  'neutron: networks': ({ ask }) => ask('neutron', '/v2.0/networks'),
  'neutron: a missing port': ({ ask }) => ask('neutron', `/v2.0/ports/${unknownId}`),
  'neutron: an unknown filter': ({ ask }) => ask('neutron', '/v2.0/ports?bogus=1'),
  'neutron: a bad token': ({ ask }) => ask('neutron', '/v2.0/ports', badToken),
  'nova: servers': ({ ask }) => ask('nova', '/v2.1/servers'),
  'nova: servers with details': ({ ask }) => ask('nova', '/v2.1/servers/detail'),
  'nova: a page': ({ ask }) => ask('nova', '/v2.1/servers/detail?limit=1'),
  'nova: one server': ({ ask, seeds }) => ask('nova', `/v2.1/servers/${seeds.vms[0]}`),
  'nova: the interfaces of a server': ({ ask, seeds }) => ask('nova', `/v2.1/servers/${seeds.vms[0]}/os-interface`),
  'nova: the actions of a server': ({ ask, seeds }) =>
    ask('nova', `/v2.1/servers/${seeds.vms[0]}/os-instance-actions`, nova('2.21')),
  'nova: a missing server': ({ ask }) => ask('nova', `/v2.1/servers/${unknownId}`),
  'nova: a bad limit': ({ ask }) => ask('nova', '/v2.1/servers?limit=x'),
  'nova: a bad token': ({ ask }) => ask('nova', '/v2.1/servers', badToken),
}

export function capturedShapeCases(context: () => CloudContext): void {
  const writes = environment()['CAPTURE'] === '1'
  const captured = writes ? {} : (JSON.parse(readFileSync(file, 'utf8')) as Record<string, Shape>)
  const found: Record<string, Shape> = {}
  for (const [name, ask] of Object.entries(requests))
    test(`${name}: all fields have the captured shape`, async () => {
      const { status, headers, body } = await ask(context())
      const type = String(headers['content-type'] ?? '').split(';')[0] ?? ''
      found[name] = { status: String(status), type, body: shapeOf(body) }
      if (writes) return
      assert.deepEqual(differences(found[name], captured[name] ?? 'not captured'), [])
    })
  after(() => {
    if (writes) writeFileSync(file, `${JSON.stringify(found, null, 2)}\n`)
  })
}
