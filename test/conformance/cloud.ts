/**
 * What our hands rely on in a cloud, as one suite: the sandbox's Keystone, Neutron and Nova and the real ones must both pass
 * it. Where they differ, the real ones are right.
 */
import { after, before, describe } from 'node:test'
import { accessCases } from './cloud/access.ts'
import { attachingCases } from './cloud/attaching.ts'
import { capturedCases } from './cloud/captured.ts'
import { networkCases } from './cloud/networks.ts'
import { type CloudUnderTest, type Place, settleIn } from './cloud/place.ts'
import { portCases } from './cloud/ports.ts'
import { serverCases } from './cloud/servers.ts'
import { shapeCases } from './cloud/shapes.ts'
import { tokenCases } from './cloud/tokens.ts'

/** `more`: cases of this cloud alone, after those that hold for every one. */
export function cloudConformance(name: string, open: () => Promise<CloudUnderTest>, more?: () => void): void {
  describe(name, () => {
    let opened: { place: Place; leave(): Promise<void> } | undefined
    const place = (): Place => {
      if (!opened) throw new Error('the cloud is not open')
      return opened.place
    }

    before(
      async () => {
        const cloud = await open()
        try {
          opened = await settleIn(cloud)
        } catch (error) {
          await cloud.close()
          throw error
        }
      },
      { timeout: 600_000 },
    )
    after(() => opened?.leave(), { timeout: 60_000 })

    describe('shapes', () => shapeCases(place))
    describe('captured answers', () => capturedCases(place))
    describe('ports', () => portCases(place))
    describe('subnets and networks', () => networkCases(place))
    describe('servers', () => serverCases(place))
    describe('attaching and detaching', () => attachingCases(place))
    describe('tokens', () => tokenCases(place))
    describe('access that is lost', () => accessCases(place))
    if (more) describe('of its own', more)
  })
}
