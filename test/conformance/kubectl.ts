/**
 * Conformance suite for kubectl. The simulated API server and a real kube-apiserver must both pass it.
 */
import { after, before, describe } from 'node:test'
import { applyCases } from './kubectl/apply.ts'
import { changeCases } from './kubectl/change.ts'
import { deleteCases } from './kubectl/delete.ts'
import { readCases } from './kubectl/read.ts'
import { type KubectlSession, startSession } from './kubectl/session.ts'

export function kubectlConformance(
  name: string,
  kubectl: string,
  open: () => Promise<{ kubeconfig: string; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let opened: { session: KubectlSession; close(): Promise<void> } | undefined
    const session = (): KubectlSession => {
      if (!opened) throw new Error('the API server is not started')
      return opened.session
    }

    before(
      async () => {
        const server = await open()
        const started = await startSession(kubectl, server.kubeconfig)
        opened = {
          session: started.session,
          async close() {
            await started.close()
            await server.close()
          },
        }
      },
      { timeout: 120_000 },
    )
    after(() => opened?.close(), { timeout: 60_000 })

    // In this order: each part continues with the objects of the previous one.
    describe('apply', () => applyCases(session))
    describe('read', () => readCases(session))
    describe('change', () => changeCases(session))
    describe('delete', () => deleteCases(session))
  })
}
