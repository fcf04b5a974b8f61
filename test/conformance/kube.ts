/**
 * What our hands rely on in a Kubernetes API, as one suite: the sandbox's API server and a real kube-apiserver with etcd
 * and kube-controller-manager must both pass it.
 */
import { after, before, describe } from 'node:test'
import { brokenObjectCases } from '../fuzz/objects.ts'
import { applyCases } from './kube/apply.ts'
import { deletionCases } from './kube/deletion.ts'
import { discoveryCases } from './kube/discovery.ts'
import { jobCases } from './kube/jobs.ts'
import { kindCases } from './kube/kinds.ts'
import { listCases } from './kube/lists.ts'
import { metadataCases } from './kube/metadata.ts'
import { objectCases } from './kube/objects.ts'
import { type Place, settleIn } from './kube/place.ts'
import { rightCases } from './kube/rights.ts'
import { schemaCases } from './kube/schema.ts'
import { watchCases } from './kube/watches.ts'
import { writeCases } from './kube/writes.ts'

export function kubeConformance(
  name: string,
  open: () => Promise<{ kubeconfig: string; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let opened: { place: Place; leave(): Promise<void> } | undefined
    const place = (): Place => {
      if (!opened) throw new Error('the API server is not open')
      return opened.place
    }

    before(
      async () => {
        const server = await open()
        try {
          const settled = await settleIn(server.kubeconfig)
          opened = {
            place: settled.place,
            async leave() {
              await settled.leave()
              await server.close()
            },
          }
        } catch (error) {
          await server.close()
          throw error
        }
      },
      { timeout: 120_000 },
    )
    after(() => opened?.leave(), { timeout: 60_000 })

    describe('objects', () => objectCases(place))
    describe('metadata', () => metadataCases(place))
    describe('writes', () => writeCases(place))
    describe('schemas', () => schemaCases(place))
    describe('server-side apply', () => applyCases(place))
    describe('lists', () => listCases(place))
    describe('watches', () => watchCases(place))
    describe('deletion', () => deletionCases(place))
    describe('built-in kinds', () => kindCases(place))
    describe('jobs', () => jobCases(place))
    describe('rights', () => rightCases(place))
    describe('discovery and tables', () => discoveryCases(place))
    describe('broken objects', () => brokenObjectCases(place))
  })
}
