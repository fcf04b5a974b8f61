/**
 * One cluster without its HTTP: the store, the kinds it serves, the verbs, and the controllers that live inside it.
 */
import type { Log } from '../../src/telemetry/log.ts'
import { startCollector } from './controllers/garbage-collector.ts'
import { startJobController } from './controllers/jobs.ts'
import { builtinKinds, firstNamespaces } from './kinds/builtin.ts'
import { definitionsKind, kindOf } from './kinds/definitions.ts'
import { createKinds, type Kinds } from './kinds/kinds.ts'
import { createStore, type Snapshot, type Store } from './objects/store.ts'
import { targetFor } from './objects/targets.ts'
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
  from?: Snapshot
  /** How many changes a watch can be behind. */
  kept?: number
}

export function createCluster({ log, now = () => new Date(), from, kept }: ClusterOptions): Cluster {
  const store = createStore({ ...(from && { from }), ...(kept !== undefined && { kept }) })
  const kinds = createKinds(builtinKinds)
  const verbs = createVerbs(store, now)
  for (const definition of store.list(definitionsKind)) kinds.add(kindOf(definition))
  const forget = store.subscribe(change => {
    if (change.kind !== definitionsKind) return
    if (change.type === 'DELETED') {
      const kind = kindOf(change.object)
      kinds.remove(kind.group, kind.plural)
    } else kinds.add(kindOf(change.object))
  })
  const collector = startCollector({ store, kinds, verbs, log })
  const jobs = startJobController({ store, kinds, verbs, now, log })
  for (const name of firstNamespaces) {
    if (store.get(namespacesId, undefined, name)) continue
    const target = targetFor(kinds, namespacesId, { name })
    verbs.create(target, { metadata: { name } }, { manager: 'kube-apiserver' })
  }
  if (!from) store.compact()
  return {
    store,
    kinds,
    verbs,
    now,
    close() {
      jobs.close()
      collector.close()
      forget()
    },
  }
}
