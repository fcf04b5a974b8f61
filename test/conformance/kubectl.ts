/**
 * What a person with kubectl does and reads, as one suite: the sandbox's API server and a real kube-apiserver must both pass
 * it, with the current kubectl and with an old one.
 */
import { after, before, describe } from 'node:test'
import { applyingCases } from './kubectl/applying.ts'
import { changingCases } from './kubectl/changing.ts'
import { deletingCases } from './kubectl/deleting.ts'
import { type Person, settlePerson } from './kubectl/person.ts'
import { readingCases } from './kubectl/reading.ts'

export function kubectlConformance(
  name: string,
  kubectl: string,
  open: () => Promise<{ kubeconfig: string; close(): Promise<void> }>,
): void {
  describe(name, () => {
    let opened: { person: Person; leave(): Promise<void> } | undefined
    const person = (): Person => {
      if (!opened) throw new Error('the API server is not open')
      return opened.person
    }

    before(
      async () => {
        const server = await open()
        const settled = await settlePerson(kubectl, server.kubeconfig)
        opened = {
          person: settled.person,
          async leave() {
            await settled.leave()
            await server.close()
          },
        }
      },
      { timeout: 120_000 },
    )
    after(() => opened?.leave(), { timeout: 60_000 })

    // One story: each part goes on where the one before ended.
    describe('applying', () => applyingCases(person))
    describe('reading', () => readingCases(person))
    describe('changing', () => changingCases(person))
    describe('deleting', () => deletingCases(person))
  })
}
