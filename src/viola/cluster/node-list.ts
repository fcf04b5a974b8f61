/**
 * The Nodes of one cluster: their names and machines, and a version that changes with them.
 *
 * Reads use the watch while it works. Otherwise they go to the API server, so that an unreachable cluster or a missing right
 * is an error and not an empty or old list.
 */
import { createHash } from 'node:crypto'
import { truncate } from '../../contract/truncate.ts'
import type { ViolaClusterNode } from '../../contract/viola.ts'
import type { Kube } from '../../kube/api.ts'
import { createInformer, type Informer } from '../../kube/informer.ts'
import { nodes } from '../../kube/resources.ts'
import type { NodeObject } from '../../kube/types.ts'
import type { Log } from '../../telemetry/log.ts'
import type { Breaker } from './circuit-breaker.ts'
import { shareNextRun } from './concurrency-limit.ts'
import { monitored } from './monitored.ts'

export interface NodeList {
  read(): Promise<NodeListState>
  /** Calls the listener with the version now and after every change. Needs an earlier `read`. Returns a function that unsubscribes it. */
  subscribe(listener: (version: string) => void): () => void
}

export interface NodeListState {
  items: ViolaClusterNode[]
  /** The same in every replica. */
  version: string
}

interface NodeListOptions {
  kube: Pick<Kube, 'list' | 'watch'>
  log: Log
  breaker: Breaker
  signal: AbortSignal
}

export function openNodeList({ kube, log, breaker, signal }: NodeListOptions): NodeList {
  const list = shareNextRun(() => kube.list(nodes, { keep: trimNode }))
  const watched = monitored({ list: list as Kube['list'], watch: kube.watch }, breaker.reset)
  let informer: Informer<NodeObject> | undefined

  function watch(): Informer<NodeObject> {
    if (informer) return informer
    informer = createInformer(watched.kube, nodes, { log, keep: trimNode })
    informer.start(signal).catch(() => {})
    return informer
  }

  return {
    async read() {
      if (informer?.synced && watched.works()) return stateOf(informer.list())
      const { items } = await breaker.run(list)
      watch()
      return stateOf(items)
    },
    subscribe(listener) {
      const current = watch()
      let last: string | undefined
      let isDue = false
      let isStopped = false
      const send = () => {
        isDue = false
        if (isStopped || !current.synced) return
        const { version } = stateOf(current.list())
        if (version !== last) listener(version)
        last = version
      }
      // Once for all changes of a list.
      const sendSoon = () => {
        if (!isDue) queueMicrotask(send)
        isDue = true
      }
      const stops = [
        // A kubelet updates the status of its Node all the time.
        current.on(({ type, object, old }) => {
          if (type !== 'updated' || !old || uuidOf(old) !== uuidOf(object)) sendSoon()
        }),
        current.onList(sendSoon),
      ]
      sendSoon()
      return () => {
        isStopped = true
        for (const stop of stops) stop()
      }
    },
  }
}

/** The list of images alone would be most of the memory. */
function trimNode({ apiVersion, kind, metadata, status }: NodeObject): NodeObject {
  const { name, uid, resourceVersion } = metadata
  return {
    apiVersion,
    kind,
    metadata: { name, ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
    status: { nodeInfo: { systemUUID: status?.nodeInfo?.systemUUID ?? '' } },
  }
}

/** The kubelet, and so the owner of the machine, writes it. */
const maxUuidLength = 100

function uuidOf({ status }: NodeObject): string {
  return truncate((status?.nodeInfo?.systemUUID ?? '').trim(), maxUuidLength)
}

function stateOf(objects: readonly NodeObject[]): NodeListState {
  const items = objects
    .map(node => ({ name: node.metadata.name, systemUUID: uuidOf(node) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  return { items, version: createHash('sha256').update(JSON.stringify(items)).digest('hex').slice(0, 32) }
}
