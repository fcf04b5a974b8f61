/**
 * Whether the API server still accepts new objects of our kinds. Once a CustomResourceDefinition is being deleted, discovery
 * lists its kind without the verb create. Everybody may read discovery, so the controller needs no right to read the CRDs.
 */
import { bizConfigs } from '../contract/legacy/biz-config.ts'
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import type { KubeClient } from '../kube/client.ts'
import { definitionState, deletionSettleMs, servedVerbs, type Verbs } from '../kube/discovery.ts'
import type { Observed } from './plan/observed.ts'

export interface Definitions {
  /** The plan for a deleted config needs a newer answer of the API server. */
  isDue(config: NodeConfig, now: number): boolean
  read(now: number): Promise<void>
  of(config: NodeConfig, now: number): Observed['definition']
}

/** Thousands of configs may be deleted at once: they share an answer. */
const validMs = 10_000

export function createDefinitions(kube: Pick<KubeClient, 'raw'>): Definitions {
  let readAt = Number.NEGATIVE_INFINITY
  let verbs: Verbs = new Map()
  let reading: Promise<void> | undefined

  async function readOnce(now: number): Promise<void> {
    verbs = await servedVerbs(kube, nodeConfigs)
    readAt = now
  }

  /** An answer from before the deletion could be seen says nothing about it. */
  function isValid({ metadata }: NodeConfig, now: number): boolean {
    const settledAt = Date.parse(metadata.deletionTimestamp ?? '') + deletionSettleMs
    return readAt >= now - validMs && (readAt >= settledAt || settledAt > now)
  }

  return {
    isDue(config, now) {
      return config.metadata.deletionTimestamp !== undefined && !isValid(config, now)
    },
    async read(now) {
      reading ??= readOnce(now).finally(() => {
        reading = undefined
      })
      await reading
    },
    of(config, now) {
      if (!isValid(config, now)) return undefined
      const { plural } = config.kind === bizConfigs.kind ? bizConfigs : nodeConfigs
      return definitionState(verbs, plural)
    },
  }
}
