/**
 * A cluster without HTTP: the store, the kinds it serves, the verbs, and its controllers.
 */
import type { Log } from '../../src/telemetry/log.ts'
import { startGarbageCollector } from './controllers/garbage-collector.ts'
import { startJobController } from './controllers/jobs.ts'
import { reportUnscheduledPods } from './controllers/scheduling.ts'
import { builtinKinds, initialNamespaces } from './kinds/builtin.ts'
import { definitionsKind, kindFromDefinition } from './kinds/definitions.ts'
import { createKinds, type Kinds } from './kinds/kinds.ts'
import { createStore, type Store } from './objects/store.ts'
import { targetFor } from './objects/target.ts'
import { createVerbs, namespacesId, type Verbs } from './objects/verbs.ts'

export interface Cluster {
  store: Store
  kinds: Kinds
  verbs: Verbs
  now: () => Date
  close(): void
}

export interface ClusterOptions {
  log: Log
  now?: () => Date
}

export function createCluster({ log, now = () => new Date() }: ClusterOptions): Cluster {
  const store = createStore()
  const kinds = createKinds(builtinKinds)
  const verbs = createVerbs(store, now)
  for (const definition of store.list(definitionsKind)) kinds.add(kindFromDefinition(definition))
  const unsubscribe = store.subscribe(change => {
    if (change.kind !== definitionsKind) return
    if (change.type === 'DELETED') {
      const kind = kindFromDefinition(change.object)
      kinds.remove(kind.group, kind.plural)
    } else kinds.add(kindFromDefinition(change.object))
  })
  const collector = startGarbageCollector({ store, kinds, verbs, log })
  const jobs = startJobController({ store, kinds, verbs, now, log })
  const scheduling = reportUnscheduledPods({ store, kinds, verbs, now, log })
  for (const name of initialNamespaces) {
    if (store.get(namespacesId, undefined, name)) continue
    const target = targetFor(kinds, namespacesId, { name })
    verbs.create(target, { metadata: { name } }, { manager: 'kube-apiserver' })
  }
  store.compact()
  return {
    store,
    kinds,
    verbs,
    now,
    close() {
      scheduling.close()
      jobs.close()
      collector.close()
      unsubscribe()
    },
  }
}
