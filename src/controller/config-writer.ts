/**
 * Writes to the metadata and the status of one config. legacy/ has another implementation, for the nodes of a
 * MultiNicBizConfig, which exist in no API server.
 */
import { type NodeConfig, nodeConfigs } from '../contract/node-config.ts'
import type { Kube } from '../kube/api.ts'

export interface ConfigWriter {
  /** Resolves to the config after the write. */
  patchMetadata(config: NodeConfig, patch: MetadataPatch): Promise<NodeConfig>
  patchStatus(config: NodeConfig, patch: object): Promise<NodeConfig>
}

export interface MetadataPatch {
  finalizers?: string[]
  /** Null removes an annotation. */
  annotations?: Record<string, string | null>
}

/** The resource version protects against concurrent changes: a merge patch replaces whole lists. */
export function apiConfigWriter(kube: Pick<Kube, 'patch' | 'patchStatus'>): ConfigWriter {
  return {
    patchMetadata(config, patch) {
      const { name, namespace, resourceVersion } = config.metadata
      const metadata = { ...patch, resourceVersion }
      return kube.patch(nodeConfigs, { ...(namespace && { namespace }), name }, { metadata })
    },
    patchStatus(config, patch) {
      const { name, namespace, resourceVersion } = config.metadata
      const options = { ...(resourceVersion && { resourceVersion }) }
      return kube.patchStatus(nodeConfigs, { ...(namespace && { namespace }), name }, patch, options)
    },
  }
}
