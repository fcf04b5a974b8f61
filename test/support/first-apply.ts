/**
 * The request for the first apply Job of a config.
 */
import type { NodeConfig } from '../../src/contract/node-config.ts'
import { factsOf } from '../../src/controller/machine.ts'
import { requestedOf } from '../../src/controller/plan/requested.ts'
import type { NodeObject } from '../../src/kube/types.ts'

export function firstApply(config: NodeConfig, node: NodeObject) {
  return { config, node: factsOf(node), ...requestedOf(config), action: 'apply', attempt: 0, takesSlot: false } as const
}
