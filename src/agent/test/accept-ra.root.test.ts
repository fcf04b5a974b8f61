/** Router advertisements that a NIC accepts (NETWORK_ACCEPT_RA): before the agent runs, and while the NIC is configured. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type RigNode, requestedInterface, withNode } from '../../../test/rigs/host/node.ts'

const env = { NETWORK_ACCEPT_RA: 'true' }

/** What the kernel adds for an advertised prefix. */
function advertise(node: RigNode, device: string, prefix: string): void {
  const lifetimes = ['valid_lft', '3600', 'preferred_lft', '1800']
  node.ip('address', 'add', `${prefix}::5/64`, 'dev', device, 'nodad', 'noprefixroute', ...lifetimes)
  node.ip('-6', 'route', 'add', `${prefix}::/64`, 'dev', device, 'protocol', 'ra', 'metric', '256')
}

async function isInSync(node: RigNode, interfaces: ReturnType<typeof requestedInterface>[]): Promise<void> {
  const check = await node.agent({ mode: 'check', interfaces }, env)
  assert.equal(check.report?.verdict, 'InSync', check.log)
}

suite('accepted router advertisements', { concurrency: 2 }, () => {
  test('an address of an advertised prefix is no obstacle, and stays', () =>
    withNode({ nics: 1 }, async node => {
      const interfaces = node.nics.map((nic, index) => requestedInterface(nic, index))
      node.ip('link', 'set', 'ens4', 'up')
      advertise(node, 'ens4', 'fd77:1')
      const refused = await node.agent({ mode: 'plan', interfaces }, { NETWORK_TAKEOVER: 'refuse' })
      assert.match(refused.report?.message ?? '', /has address fd77:1::5/, refused.log)
      const ran = await node.agent({ interfaces }, env)
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      assert.match(node.ip('-6', 'address', 'show', 'dev', 'multinic0'), /fd77:1::5\/64/)
      assert.match(node.ip('-6', 'route'), /fd77:1::\/64 dev multinic0/)
      await isInSync(node, interfaces)
    }))

  test('a prefix that a router advertises later is no drift', () =>
    withNode({ nics: 2 }, async node => {
      const interfaces = node.nics.map((nic, index) => requestedInterface(nic, index, { addresses: [nic.address6] }))
      const ran = await node.agent({ interfaces }, env)
      assert.equal(ran.report?.verdict, 'Configured', ran.log)
      for (const prefix of ['fd77:1', 'fd77:2']) {
        advertise(node, 'multinic0', prefix)
        await isInSync(node, interfaces)
      }
      assert.equal((await node.agent({ interfaces }, env)).report?.changed, 0)
    }))
})
