/**
 * A Kubernetes client that records whether its last list or watch was successful.
 */
import type { Kube } from '../../kube/api.ts'
import { messageOf } from '../../runtime/errors.ts'

export function monitored(kube: Pick<Kube, 'list' | 'watch'>, onRecovered: () => void) {
  let problem: string | undefined = 'not connected yet'
  const succeeded = () => {
    if (problem !== undefined) onRecovered()
    problem = undefined
  }
  const failed = (error: unknown) => {
    problem = messageOf(error)
    return error
  }
  const watched: Pick<Kube, 'list' | 'watch'> = {
    async list(resource, options) {
      try {
        const found = await kube.list(resource, options)
        succeeded()
        return found
      } catch (error) {
        throw failed(error)
      }
    },
    async *watch(resource, options) {
      try {
        for await (const event of kube.watch(resource, options)) {
          succeeded()
          yield event
        }
      } catch (error) {
        throw failed(error)
      }
    },
  }
  return { kube: watched, works: () => problem === undefined, problem: () => problem }
}
