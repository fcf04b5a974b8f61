/**
 * Deletes dependents of deleted owners, the contents of deleted namespaces, and the objects of deleted CRDs. Runs asynchronously,
 * once after each burst of changes.
 */
import { messageOf } from '../../../src/runtime/errors.ts'
import type { Log } from '../../../src/telemetry/log.ts'
import { ApiError } from '../api-errors.ts'
import { type ApiObject, listOf, type OwnerReference, recordOf } from '../json.ts'
import { definitionsKind, kindFromDefinition } from '../kinds/definitions.ts'
import { type Kinds, kindId } from '../kinds/kinds.ts'
import type { Change, Store } from '../objects/store.ts'
import { targetOfObject } from '../objects/target.ts'
import { foreground, namespacesId, orphan, type Verbs } from '../objects/verbs.ts'

const crdFinalizer = 'customresourcecleanup.apiextensions.k8s.io'
const manager = 'kube-controller-manager'

export interface GarbageCollectorOptions {
  store: Store
  kinds: Kinds
  verbs: Verbs
  log: Log
}

interface Found {
  kind: string
  object: ApiObject
}

export function startGarbageCollector({ store, kinds, verbs, log }: GarbageCollectorOptions): { close(): void } {
  const dependents = new Map<string, Set<string>>()
  const pending = new Set<string>()
  let scheduled: NodeJS.Immediate | undefined

  const enqueue = (uid: string | undefined) => {
    if (uid) pending.add(uid)
    scheduled ??= setImmediate(processQueue)
  }

  const index = ({ type, object, old }: Change) => {
    const uid = object.metadata.uid ?? ''
    for (const owner of ownersOf(old)) dependents.get(owner.uid)?.delete(uid)
    if (type === 'DELETED') return
    for (const owner of ownersOf(object)) {
      const known = dependents.get(owner.uid) ?? new Set()
      dependents.set(owner.uid, known.add(uid))
    }
  }

  const handleChange = (change: Change) => {
    index(change)
    const { metadata } = change.object
    if (change.type === 'DELETED') {
      for (const uid of dependents.get(metadata.uid ?? '') ?? []) enqueue(uid)
      for (const owner of ownersOf(change.object)) enqueue(owner.uid)
      if (metadata.namespace !== undefined)
        enqueue(store.get(namespacesId, undefined, metadata.namespace)?.metadata.uid)
      for (const definition of store.list(definitionsKind)) {
        if (definition.metadata.deletionTimestamp) enqueue(definition.metadata.uid)
      }
    } else if (metadata.deletionTimestamp || ownersOf(change.object).length > 0) enqueue(metadata.uid)
  }

  const processQueue = () => {
    scheduled = undefined
    const uids = [...pending]
    pending.clear()
    for (const uid of uids) {
      const found = store.byUid(uid)
      if (!found) continue
      try {
        reconcile(found)
      } catch (error) {
        if (error instanceof ApiError && error.status.code === 409) enqueue(uid)
        else log.warn('garbage collection failed', { uid, error: messageOf(error) })
      }
    }
  }

  const reconcile = (found: Found) => {
    const { kind, object } = found
    const { deletionTimestamp, finalizers = [], uid = '' } = object.metadata
    if (!deletionTimestamp) return collect(found)
    if (kind === namespacesId) deleteNamespaceContents(object)
    if (kind === definitionsKind && finalizers.includes(crdFinalizer)) deleteDefinitionObjects(found)
    if (finalizers.includes(orphan)) orphanDependents(found)
    if (finalizers.includes(foreground)) {
      const children = dependentsOf(uid)
      for (const child of children) enqueue(child.object.metadata.uid)
      if (!children.some(child => blocks(child.object, uid))) removeFinalizer(found, foreground)
    }
  }

  const dependentsOf = (uid: string): Found[] =>
    [...(dependents.get(uid) ?? [])].map(child => store.byUid(child)).filter(found => found !== undefined)

  /** Deletes an object if none of its owners exists. */
  const collect = (found: Found) => {
    const { kind, object } = found
    const owners = ownersOf(object)
    if (owners.length === 0) return
    const states = owners.map(owner => [owner, ownerState(owner, object)] as const)
    if (states.some(([, state]) => state === 'present')) {
      const rest = states.filter(([, state]) => state !== 'absent').map(([owner]) => owner)
      if (rest.length < owners.length) setOwners(found, rest)
      return
    }
    const waits = states.some(([, state]) => state === 'waiting')
    const hasChildren = (dependents.get(object.metadata.uid ?? '')?.size ?? 0) > 0
    verbs.remove(targetOfObject(kinds, kind, object), {
      propagationPolicy: waits && hasChildren ? 'Foreground' : 'Background',
      ...(object.metadata.uid && { uid: object.metadata.uid }),
    })
  }

  const ownerState = (owner: OwnerReference, dependent: ApiObject): 'present' | 'waiting' | 'absent' => {
    const found = store.byUid(owner.uid)?.object
    if (!found) return 'absent'
    const { namespace, deletionTimestamp, finalizers } = found.metadata
    if (namespace !== undefined && namespace !== dependent.metadata.namespace) return 'absent'
    return deletionTimestamp && finalizers?.includes(foreground) ? 'waiting' : 'present'
  }

  const change = ({ kind, object }: Found, metadata: Partial<ApiObject['metadata']>) => {
    const next = { ...object, metadata: { ...object.metadata, ...metadata } }
    verbs.update(targetOfObject(kinds, kind, object), next, { manager })
  }

  const setOwners = (found: Found, ownerReferences: OwnerReference[]) => change(found, { ownerReferences })

  const removeFinalizer = (found: Found, finalizer: string) =>
    change(found, { finalizers: (found.object.metadata.finalizers ?? []).filter(name => name !== finalizer) })

  const orphanDependents = (found: Found) => {
    const { uid = '' } = found.object.metadata
    for (const child of dependentsOf(uid))
      setOwners(
        child,
        ownersOf(child.object).filter(owner => owner.uid !== uid),
      )
    removeFinalizer(found, orphan)
  }

  const deleteNamespaceContents = (namespace: ApiObject) => {
    const { name } = namespace.metadata
    let left = 0
    for (const kind of kinds.all().filter(one => one.namespaced)) {
      for (const object of store.list(kindId(kind), name)) {
        left++
        if (object.metadata.deletionTimestamp) continue
        verbs.remove(targetOfObject(kinds, kindId(kind), object), { propagationPolicy: 'Background' })
        if (store.byUid(object.metadata.uid ?? '') === undefined) left--
      }
    }
    if (left > 0 || listOf(recordOf(namespace['spec'])['finalizers']).length === 0) return
    const next = { ...namespace, spec: { ...recordOf(namespace['spec']), finalizers: [] } }
    verbs.update(targetOfObject(kinds, namespacesId, namespace, 'finalize'), next, { manager })
  }

  const deleteDefinitionObjects = (found: Found) => {
    const id = kindId(kindFromDefinition(found.object))
    for (const object of store.list(id)) {
      if (!object.metadata.deletionTimestamp) verbs.remove(targetOfObject(kinds, id, object))
    }
    if (store.list(id).length === 0) removeFinalizer(found, crdFinalizer)
  }

  const stop = store.subscribe(handleChange)
  for (const kind of store.kinds()) {
    for (const object of store.list(kind)) handleChange({ type: 'ADDED', kind, object, old: undefined, version: 0 })
  }
  return {
    close() {
      stop()
      clearImmediate(scheduled)
    },
  }
}

function ownersOf(object: ApiObject | undefined): OwnerReference[] {
  return object?.metadata.ownerReferences ?? []
}

function blocks(dependent: ApiObject, uid: string): boolean {
  return ownersOf(dependent).some(owner => owner.uid === uid && owner.blockOwnerDeletion === true)
}
