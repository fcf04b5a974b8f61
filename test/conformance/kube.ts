/**
 * Conformance suite for the Kubernetes API as MultiNIC uses it. The simulated API server and a real kube-apiserver with etcd and
 * kube-controller-manager must both pass it.
 */
import { after, before, describe } from 'node:test'
import { brokenObjectCases } from '../fuzz/objects.ts'
import { applyCases } from './kube/apply.ts'
import { authorizationCases } from './kube/authorization.ts'
import { createContext, type KubeContext } from './kube/context.ts'
import { deletionCases } from './kube/deletion.ts'
import { discoveryCases } from './kube/discovery.ts'
import { jobCases } from './kube/jobs.ts'
import { kindCases } from './kube/kinds.ts'
import { listCases } from './kube/lists.ts'
import { metadataCases } from './kube/metadata.ts'
import { objectCases } from './kube/objects.ts'
import { schemaCases } from './kube/schema.ts'
import { watchCases } from './kube/watch.ts'
import { writeCases } from './kube/writes.ts'

export function kubeConformance(
  name: string,
  open: () => Promise<{ kubeconfig: string; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let opened: { context: KubeContext; close(): Promise<void> } | undefined
    const context = (): KubeContext => {
      if (!opened) throw new Error('the API server is not started')
      return opened.context
    }

    before(
      async () => {
        const server = await open()
        try {
          const created = await createContext(server.kubeconfig)
          opened = {
            context: created.context,
            async close() {
              await created.close()
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
    after(() => opened?.close(), { timeout: 60_000 })

    describe('objects', () => objectCases(context))
    describe('metadata', () => metadataCases(context))
    describe('writes', () => writeCases(context))
    describe('schemas', () => schemaCases(context))
    describe('server-side apply', () => applyCases(context))
    describe('lists', () => listCases(context))
    describe('watches', () => watchCases(context))
    describe('deletion', () => deletionCases(context))
    describe('built-in kinds', () => kindCases(context))
    describe('jobs', () => jobCases(context))
    describe('authorization', () => authorizationCases(context))
    describe('discovery and tables', () => discoveryCases(context))
    describe('invalid objects', () => brokenObjectCases(context))
  })
}
