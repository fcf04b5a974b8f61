/**
 * Keeps the labels and the taint of every Node in line with what is proven (NODE_LABELS).
 *
 * The keys are Nodes, not configs: a label must also go when its config is gone, or names another machine.
 */
import { equalJson } from '../../contract/json.ts'
import type { NodeConfig } from '../../contract/node-config.ts'
import type { Kube } from '../../kube/api.ts'
import { type Controller, type Reconcile, runController } from '../../kube/controller.ts'
import { isNotFound } from '../../kube/errors.ts'
import { nodes } from '../../kube/resources.ts'
import type { NodeObject } from '../../kube/types.ts'
import { explain } from '../../runtime/errors.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Caches } from '../caches.ts'
import { spellingsOf } from '../machine.ts'
import { configsForNode, duplicatesOf, findNode } from '../node-claims.ts'
import { isLegacyEntry } from '../plan/config-status.ts'
import { requestedOf } from '../plan/requested.ts'
import { labelChanges, taintRemoval } from './node-labels.ts'
import { type Proven, provenOf } from './proven.ts'

export interface LabelDeps {
  kube: Pick<Kube, 'patch'>
  caches: Caches
  log: Log
  signal: AbortSignal
}

export function runNodeLabels(deps: LabelDeps): Controller {
  const { caches, log, signal } = deps
  const controller = runController({
    ...{ name: 'nodelabels', workers: 4, log, signal, drainMs: 700 },
    reconcile: nodeLabelReconciler(deps),
  })
  const stop = wakeNodes(caches, controller.wake)
  void controller.stopped.then(stop)
  return controller
}

function nodeLabelReconciler({ kube, caches }: LabelDeps): Reconcile {
  /** What a patch returned, until the watch shows the Node again. */
  const written = new Map<string, { before: NodeObject; after: NodeObject }>()
  const latestOf = (name: string) => {
    const seen = caches.nodes.get(name)
    const own = written.get(name)
    if (own && own.before === seen) return own.after
    written.delete(name)
    return seen
  }
  const patch = async (name: string, change: object) => {
    const before = caches.nodes.get(name)
    const after = await kube.patch(nodes, { name }, change)
    if (before) written.set(name, { before, after })
  }
  return async (name, { log }) => {
    const node = latestOf(name)
    if (!node) return
    const config = managerOf(caches, node)
    const proven = config ? provenOf(config, { bootID: node.status?.nodeInfo?.bootID ?? '' }) : nothing
    const labels = labelChanges(node, config ? requestedOf(config).interfaces : [], proven)
    try {
      if (Object.keys(labels).length > 0) {
        // The UID: another Node may have the name by now.
        await patch(name, { metadata: { uid: node.metadata.uid, labels } })
        log.info('labels of node changed', { labels })
      }
      const removal = proven.all ? taintRemoval(node) : undefined
      if (!removal) return
      await patch(name, removal)
      log.info('taint removed from node', { config: config?.metadata.name })
    } catch (error) {
      if (!isNotFound(error)) throw explain(`cannot change the labels and taints of node ${name}`, error)
    }
  }
}

const nothing: Proven = { interfaces: [], all: false }

/** The MultiNicNodeConfig that manages the Node. */
function managerOf(caches: Caches, { metadata: { name }, status }: NodeObject): NodeConfig | undefined {
  return configsForNode(caches, name, status?.nodeInfo?.systemUUID).find(config => {
    const { node } = findNode(caches, config)
    if (isLegacyEntry(config) || node?.name !== name) return false
    if (config.metadata.deletionTimestamp) return false
    return !duplicatesOf(caches, config, node).some(({ older, deleting }) => older && !deleting)
  })
}

function wakeNodes(caches: Caches, wake: (name: string) => void): () => void {
  const stops = [
    caches.nodes.on(({ type, object, old }) => {
      if (type === 'updated' && old && equalJson(factsOf(object), factsOf(old))) return
      if (type !== 'deleted') wake(object.metadata.name)
      // Of two Nodes with one SystemUUID, none is known to be the right one.
      for (const node of [object, ...(old ? [old] : [])])
        for (const spelling of spellingsOf(node.status?.nodeInfo?.systemUUID ?? ''))
          for (const other of caches.nodes.by('machine', spelling)) wake(other.metadata.name)
    }),
    caches.configs.on(({ object, old }) => {
      for (const config of [object, ...(old ? [old] : [])]) {
        wake(config.spec.nodeName)
        const { node } = findNode(caches, config)
        if (node) wake(node.name)
      }
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}

function factsOf({ metadata: { uid, labels }, spec, status }: NodeObject): object {
  return { uid, labels, taints: spec?.taints, nodeInfo: status?.nodeInfo }
}
