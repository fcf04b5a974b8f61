/**
 * Conformance suite for OpenStack as MultiNIC uses it. The simulated Keystone, Neutron and Nova and the real ones must both pass it.
 * If they differ, fix the simulation.
 */
import { after, before, describe } from 'node:test'
import { accountCases } from './cloud/accounts.ts'
import { attachCases } from './cloud/attach.ts'
import { capturedShapeCases } from './cloud/captured-shapes.ts'
import { type CloudContext, type CloudUnderTest, createContext } from './cloud/context.ts'
import { fieldCases } from './cloud/fields.ts'
import { lostAccessCases } from './cloud/lost-access.ts'
import { networkCases } from './cloud/networks.ts'
import { portCases } from './cloud/ports.ts'
import { serverCases } from './cloud/servers.ts'
import { tokenCases } from './cloud/tokens.ts'

/** `more`: additional cases for this cloud only. */
export function cloudConformance(name: string, open: () => Promise<CloudUnderTest>, more?: () => void): void {
  describe(name, () => {
    let opened: { context: CloudContext; close(): Promise<void> } | undefined
    const context = (): CloudContext => {
      if (!opened) throw new Error('the cloud is not started')
      return opened.context
    }

    before(
      async () => {
        const cloud = await open()
        try {
          opened = await createContext(cloud)
        } catch (error) {
          await cloud.close()
          throw error
        }
      },
      { timeout: 600_000 },
    )
    after(() => opened?.close(), { timeout: 60_000 })

    describe('fields', () => fieldCases(context))
    describe('captured shapes', () => capturedShapeCases(context))
    describe('ports', () => portCases(context))
    describe('subnets and networks', () => networkCases(context))
    describe('servers', () => serverCases(context))
    describe('attach and detach', () => attachCases(context))
    describe('tokens', () => tokenCases(context))
    describe('accounts', () => accountCases(context))
    describe('lost access', () => lostAccessCases(context))
    if (more) describe('only this cloud', more)
  })
}
